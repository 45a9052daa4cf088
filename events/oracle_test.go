package events

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// DecodeByJsontext is Decode with a body that jsontext parses.
func DecodeByJsontext(m Message) (Event, error) {
	d := Decoder{message: m}
	a := readHeader(m.Header)
	if a.server != "" {
		d.run() // does not read the body
		return d.event, d.problems.err()
	}
	switch mediaType(a.contentType) {
	case contentEvent:
		if o := d.bodyByJsontext(); o != nil {
			d.structured(o)
		}
	case contentJSON, "":
		a.check(&d.event, &d.problems, func(attribute string) string { return "header:ce-" + attribute })
		if o := d.bodyByJsontext(); o != nil {
			d.data(a.ceType, "header:"+headerType, o)
			d.checkSubject("subject")
		}
	default:
		d.run() // does not read the body
	}
	return d.event, d.problems.err()
}

func (d *Decoder) bodyByJsontext() *object {
	members, err := membersByJsontext(d.message.Data)
	switch {
	case err != nil:
		d.problems = append(d.problems, syntaxProblem(err))
		return nil
	case members[0].kind != '{':
		d.problems.add("", "must be an object")
		return nil
	}
	return &object{members: members[1:], problems: &d.problems}
}

// membersByJsontext lists the members of data as scan does.
func membersByJsontext(data []byte) (members []member, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	var open []int // indexes of the objects and arrays that have not ended
	name := ""
	for {
		token, err := dec.ReadToken()
		switch {
		case errors.Is(err, io.EOF) && len(members) > 0:
			return members, nil
		case len(members) > 0 && len(open) == 0:
			return nil, errDataAfter
		case err != nil:
			return nil, err
		}
		m := member{name, value{kind: byte(token.Kind())}}
		within, length := dec.StackIndex(dec.StackDepth())
		switch m.kind {
		case '}', ']':
			start := open[len(open)-1]
			open = open[:len(open)-1]
			members[start].span = int32(len(members) - start - 1)
			continue
		case '{', '[':
			open = append(open, len(members))
		case '"', '0':
			m.text = token.String()
		}
		if m.kind == '"' && within == '{' && length%2 == 1 {
			name = m.text
			continue
		}
		members, name = append(members, m), ""
	}
}
