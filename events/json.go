package events

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// value is one JSON value. Its text shares the memory of the message, unless it was written with escapes.
type value struct {
	kind byte   // n, t, f, ", 0, { or [
	span int32  // how many members and elements stand within it, those of its own members included
	text string // a string's text, a number's literal
}

// member is a member of an object, or an element of an array, which has no name. Whatever stands within a member follows it
// directly, so a message is one slice of members in the order in which they are written.
type member struct {
	name string
	value
}

// each steps over what stands within the members.
func each(members []member) iter.Seq2[int, []member] {
	return func(yield func(int, []member) bool) {
		for i := 0; len(members) > 0; i++ {
			whole := members[:1+members[0].span]
			members = members[len(whole):]
			if !yield(i, whole) {
				return
			}
		}
	}
}

// parse reads data as exactly one JSON value, which is the first member, and what stands within it. Bad UTF-8, lone surrogates
// and duplicate members are errors. jsontext judges the whole at once, which leaves the scanner nothing to doubt; a call
// read from jsontext token by token took half as long again and made ten times the allocations.
func parse(data []byte) ([]member, error) {
	if !jsontext.Value(data).IsValid() {
		return nil, syntaxError(data)
	}
	s := scanner{text: string(data), members: make([]member, 0, min(bytes.Count(data, []byte(",")), 500)+10)}
	s.value("")
	return s.members, nil
}

// syntaxError finds what is wrong with data that is not valid.
func syntaxError(data []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	if _, err := dec.ReadValue(); err != nil {
		return err
	}
	return errors.New("data after the JSON value")
}

// syntaxProblem says what is wrong with data that is no JSON, without quoting it.
func syntaxProblem(err error) Problem {
	var syntactic *jsontext.SyntacticError
	if !errors.As(err, &syntactic) {
		return Problem{Detail: "not JSON: " + plain(err)}
	}
	return Problem{Pointer: readable(string(syntactic.JSONPointer)), Detail: "not JSON: " + plain(syntactic.Err)}
}

// readable is the pointer, or nothing where its names, which here are the data's own, are no text to keep.
func readable(pointer string) string {
	const most = 200
	if len(pointer) > most || !utf8.ValidString(pointer) || strings.ContainsRune(pointer, 0) {
		return ""
	}
	return pointer
}

// plain is the error's text up to the first quotation: what follows can be the data.
func plain(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "it ends too early"
	}
	text, _, _ := strings.Cut(err.Error(), " '")
	text, _, _ = strings.Cut(text, ` "`)
	text, _, _ = strings.Cut(text, " `")
	return strings.TrimPrefix(text, "jsontext: ")
}
