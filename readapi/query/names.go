package query

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/readapi/encode"
)

// directory has the names and labels that a page's rows refer to, each once. Every field is an array column.
type directory struct {
	families []string
	ids      [][16]byte
	names    []string
	numbers  []pgtype.Text // null: the family has no numbers

	kinds  []string
	codes  []string
	labels []string
	scores []pgtype.Float8
}

func (d *directory) targets() []any {
	return []any{&d.families, &d.ids, &d.names, &d.numbers, &d.kinds, &d.codes, &d.labels, &d.scores}
}

// names implements [encode.Names]. Each object is written once per page.
type names struct {
	references map[referenceKey][]byte
	codes      map[codeKey]labelled
}

// The keys of names.
type (
	referenceKey struct {
		family string
		id     uuid.UUID
	}
	codeKey struct {
		kind, code string
	}
)

type labelled struct {
	object, score []byte
}

// usualObject is the length of most objects. It only sizes a buffer.
const usualObject = 100

// resolve returns the names. A code's last label counts.
func (d *directory) resolve() *names {
	n := &names{references: make(map[referenceKey][]byte, len(d.ids)), codes: make(map[codeKey]labelled, len(d.codes))}
	all := make([]byte, 0, usualObject*(len(d.ids)+len(d.codes)))
	for i, id := range d.ids {
		start := len(all)
		all = appendReference(all, id, d.names[i], d.numbers[i])
		n.references[referenceKey{d.families[i], id}] = all[start:]
	}
	for i, code := range d.codes {
		start := len(all)
		all = appendCode(all, code, d.labels[i])
		end := len(all)
		all = appendScore(all, d.scores[i])
		n.codes[codeKey{d.kinds[i], code}] = labelled{all[start:end], all[end:]}
	}
	return n
}

// Reference implements [encode.Names].
func (n *names) Reference(family string, id uuid.UUID) []byte {
	return n.references[referenceKey{family, id}]
}

// Code implements [encode.Names].
func (n *names) Code(kind string, code []byte) (object, score []byte) {
	found, ok := n.codes[codeKey{kind, string(code)}]
	if !ok { // it has no classification
		found = labelled{appendCode(nil, string(code), ""), appendScore(nil, pgtype.Float8{})}
		n.codes[codeKey{kind, string(code)}] = found
	}
	return found.object, found.score
}

func appendReference(b []byte, id uuid.UUID, name string, number pgtype.Text) []byte {
	b = append(b, `{"id":`...)
	b = encode.UUID(b, id)
	b = append(b, `,"name":`...)
	b = encode.String(b, name)
	if number.Valid {
		b = append(b, `,"number":`...)
		b = encode.String(b, number.String)
	}
	return append(b, '}')
}

func appendCode(b []byte, code, label string) []byte {
	b = append(b, `{"code":`...)
	b = encode.String(b, code)
	b = append(b, `,"label":`...)
	b = encode.String(b, Label(code, label))
	return append(b, '}')
}

func appendScore(b []byte, score pgtype.Float8) []byte {
	if !score.Valid {
		return append(b, "null"...)
	}
	return encode.Float(b, score.Float64)
}
