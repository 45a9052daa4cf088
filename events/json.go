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

// value is one JSON value. Its text shares the memory of the message, unless the message has it with escapes.
type value struct {
	kind byte   // n, t, f, ", 0, { or [
	span int32  // the number of members and elements within it, at any depth
	text string // a string's text, a number's literal
}

// member is a member of an object, or an element of an array, which has no name. The members within a member follow
// it directly, so a message is one slice of members in document order.
type member struct {
	name string
	value
}

// each iterates over the direct members. Each comes with the members within it.
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

// count returns the number of direct members.
func count(members []member) (n int) {
	for at := 0; at < len(members); at += 1 + int(members[at].span) {
		n++
	}
	return n
}

// indexOf returns the index of the direct member with a name, or -1.
func indexOf(members []member, name string) int {
	for at := 0; at < len(members); at += 1 + int(members[at].span) {
		if members[at].name == name {
			return at
		}
	}
	return -1
}

// document is the memory in which one message after the other is parsed.
type document struct {
	data    bytes.Buffer
	scanner scanner
}

// maxKept is the number of members, and of bytes of a text, for which a document keeps its memory.
const maxKept = 10_000

// object parses data as an object, which is valid until the document is used again. It returns nil and adds a
// problem if data is none.
func (d *document) object(data []byte, p *problems) *object {
	if len(data) > maxMessageBytes {
		p.add("", atMost(maxMessageBytes, "bytes"))
		return nil
	}

	d.data = *bytes.NewBuffer(data)
	members, err := d.scanner.scan(&d.data, string(data))
	switch {
	case errors.Is(err, errTooManyValues):
		p.add("", err.Error())
		return nil
	case err != nil:
		*p = append(*p, syntaxProblem(err))
		return nil

	case members[0].kind != '{':
		p.add("", "must be an object")
		return nil
	}

	// The first member is the object itself.
	return &object{members: members[1:], problems: p}
}

// forget drops the references to the last message.
func (d *document) forget() {
	if max(cap(d.scanner.members), cap(d.scanner.unquoted)) > maxKept {
		*d = document{}
	}
	clear(d.scanner.members)
	clear(d.scanner.open[:cap(d.scanner.open)])
	d.data, d.scanner.text = bytes.Buffer{}, ""
}

// syntaxProblem describes a syntax error without quoting the data.
func syntaxProblem(err error) Problem {
	var syntactic *jsontext.SyntacticError
	if !errors.As(err, &syntactic) {
		return Problem{Detail: "not JSON: " + withoutQuotation(err)}
	}
	return Problem{Pointer: storablePointer(string(syntactic.JSONPointer)), Detail: "not JSON: " +
		withoutQuotation(syntactic.Err)}
}

// storablePointer returns the pointer, or nothing if the names in it, which come from the data, are too long or not
// storable as text.
func storablePointer(pointer string) string {
	const most = 200
	if len(pointer) > most || !utf8.ValidString(pointer) || strings.ContainsRune(pointer, 0) {
		return ""
	}
	return pointer
}

// withoutQuotation returns the error's text up to the first quotation, because that can quote the data.
func withoutQuotation(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "unexpected end of data"
	}
	text, _, _ := strings.Cut(err.Error(), " '")
	text, _, _ = strings.Cut(text, ` "`)
	text, _, _ = strings.Cut(text, " `")
	return strings.TrimPrefix(text, "jsontext: ")
}
