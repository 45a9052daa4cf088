package events

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// value is one parsed JSON value: kind is jsontext's ('n', 't', 'f', '"', '0', '{', '[').
type value struct {
	kind     jsontext.Kind
	text     string // a string's text, a number's literal
	members  []member
	elements []value
}

type member struct {
	name string
	value
}

// parse reads data as exactly one JSON value. Bad UTF-8, lone surrogates and duplicate members are errors.
func parse(data []byte) (value, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data))
	v, err := parseValue(dec)
	if err != nil {
		return value{}, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return value{}, errors.New("data after the JSON value")
	}
	return v, nil
}

func parseValue(dec *jsontext.Decoder) (value, error) {
	tok, err := dec.ReadToken()
	if err != nil {
		return value{}, err
	}
	v := value{kind: tok.Kind()}
	switch v.kind {
	case '"', '0':
		v.text = tok.String()
	case '{':
		return v, v.parseMembers(dec)
	case '[':
		return v, v.parseElements(dec)
	}
	return v, nil
}

func (v *value) parseMembers(dec *jsontext.Decoder) error {
	v.members = make([]member, 0, 8)
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		m := member{name: name.String()}
		if m.value, err = parseValue(dec); err != nil {
			return err
		}
		v.members = append(v.members, m)
	}
	_, err := dec.ReadToken()
	return err
}

func (v *value) parseElements(dec *jsontext.Decoder) error {
	for dec.PeekKind() != ']' {
		element, err := parseValue(dec)
		if err != nil {
			return err
		}
		v.elements = append(v.elements, element)
	}
	_, err := dec.ReadToken()
	return err
}

// syntaxProblem says what is wrong with data that is no JSON, without quoting it.
func syntaxProblem(err error) Problem {
	var syntactic *jsontext.SyntacticError
	if !errors.As(err, &syntactic) {
		return Problem{Detail: "not JSON: " + plain(err)}
	}
	return Problem{Pointer: string(syntactic.JSONPointer), Detail: "not JSON: " + plain(syntactic.Err)}
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
