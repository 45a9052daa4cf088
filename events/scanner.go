package events

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	errTooManyValues = errors.New(atMost(maxValues, "values"))
	errDataAfter     = errors.New("data after the JSON value")
)

// scanner lists the members of a JSON value. jsontext refuses invalid UTF-8 and lone surrogates. The scanner looks for
// duplicate members itself, because jsontext needs several times as much memory for it.
//
// It keeps its memory for the next value.
type scanner struct {
	decoder jsontext.Decoder
	text    string // what the decoder reads
	members []member
	open    []container // around the next value
	name    string      // of the next value

	unquoted []byte // memory
}

// container is an object or an array that has begun.
type container struct {
	index int             // of its member
	names map[string]bool // of an object with many members; nil: they are few
}

// scan returns the members of data that is exactly one JSON value, and whose text is given, too. An error is
// [errTooManyValues], or says why the text is no value.
func (s *scanner) scan(data *bytes.Buffer, text string) ([]member, error) {
	s.decoder.Reset(data, jsontext.AllowDuplicateNames(true))
	s.text, s.members, s.open, s.name = text, slices.Grow(s.members[:0], min(len(text)/32+8, 64)), s.open[:0], ""

	for len(s.members) == 0 || len(s.open) > 0 {
		if err := s.next(); err != nil {
			return nil, err
		}
	}

	if _, err := s.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errDataAfter
	}
	return s.members, nil
}

// next reads a name, a value without members, or the beginning or the end of another one.
func (s *scanner) next() error {
	switch kind := s.decoder.PeekKind(); kind {
	case '{', '[':
		if _, err := s.decoder.ReadToken(); err != nil {
			return err
		}
		s.open = append(s.open, container{index: len(s.members)})
		return s.add(value{kind: byte(kind)})

	case '}', ']':
		if _, err := s.decoder.ReadToken(); err != nil {
			return err
		}

		// The number of members is known at the end of the container.
		index := s.open[len(s.open)-1].index
		s.open = s.open[:len(s.open)-1]
		s.members[index].span = int32(len(s.members) - index - 1)
		return nil

	default:
		raw, err := s.decoder.ReadValue()
		if err != nil {
			return err
		}
		return s.scalar(value{kind: byte(kind)}, raw)
	}
}

// scalar adds a value without members, whose text is that of raw JSON, or takes the text as the name of the next value.
func (s *scanner) scalar(v value, raw jsontext.Value) error {
	end := int(s.decoder.InputOffset())
	switch {
	case v.kind == '0':
		v.text = s.text[end-len(raw) : end]

	// Only a text with escapes needs a copy.
	case v.kind == '"' && slices.Contains(raw, '\\'):
		s.unquoted, _ = jsontext.AppendUnquote(s.unquoted[:0], raw) // what was read is valid
		v.text = string(s.unquoted)

	case v.kind == '"':
		v.text = s.text[end-len(raw)+1 : end-1]
	}

	// The decoder counts names and values. So their number in an object is odd after a name.
	if around, count := s.decoder.StackIndex(s.decoder.StackDepth()); around == '{' && count%2 == 1 {
		s.name = v.text
		return s.checkName(int(count / 2))
	}
	return s.add(v)
}

// maxCompared is how many members an object may have whose names are compared with each other.
const maxCompared = 64

// checkName returns an error if one of the members that the innermost object has so far has the name, too.
func (s *scanner) checkName(members int) error {
	object := &s.open[len(s.open)-1]
	within := s.members[object.index+1:]

	// The names are in a map only where comparing all of them would take long.
	known := false
	if members < maxCompared {
		known = indexOf(within, s.name) >= 0
	} else {
		if object.names == nil {
			object.names = make(map[string]bool)
			for _, m := range each(within) {
				object.names[m[0].name] = true
			}
		}

		known = object.names[s.name]
		object.names[s.name] = true
	}

	if known {
		return &jsontext.SyntacticError{JSONPointer: s.decoder.StackPointer(), Err: jsontext.ErrDuplicateName}
	}
	return nil
}

// add adds a value under the last name. The memory for members doubles, up to maxValues.
func (s *scanner) add(v value) error {
	n := len(s.members)
	if n == maxValues {
		return errTooManyValues
	}
	if n == cap(s.members) {
		s.members = slices.Grow(s.members, min(max(n, 64), maxValues-n))
	}
	s.members = append(s.members, member{s.name, v})
	s.name = ""
	return nil
}

// jsonSize returns how many bytes a text has as JSON, with its quotes, as callboard serves it.
func jsonSize(text string) int {
	size := len(`""`) + len(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			size += len(`\n`) - 1
		case c < ' ':
			size += len(`\u0000`) - 1
		}
	}
	return size
}
