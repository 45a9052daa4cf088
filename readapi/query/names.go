package query

import (
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/readapi/encode"
	"callboard/schema"
)

// edition identifies what a phone system's directory showed in a snapshot. Snapshots with equal editions have equal directories.
type edition string

// names are the names of references and the labels of codes, as JSON.
type names struct {
	references map[string]map[uuid.UUID]string // by family; empty: the target was deleted
	codes      map[string]map[string]label     // by kind
}

// label is the object of a code with its label, and the score of its classification.
type label struct {
	object, score string
}

func newNames() names {
	return names{references: make(map[string]map[uuid.UUID]string), codes: make(map[string]map[string]label)}
}

// empty reports whether nothing was put.
func (n names) empty() bool { return len(n.references) == 0 && len(n.codes) == 0 }

// put puts an entry into one of the maps of references or of codes.
func put[K comparable, V any](all map[string]map[K]V, family string, key K, value V) {
	if all[family] == nil {
		all[family] = make(map[K]V)
	}
	all[family][key] = value
}

// entrySize is what an entry takes beside its JSON: its key, and its share of the maps, which are two thirds full.
const entrySize = 64

// add adds the entries that are not there, and returns the bytes that these take.
func (n names) add(others names) (size int64) {
	for family, references := range others.references {
		for id, object := range references {
			if _, ok := n.references[family][id]; !ok {
				put(n.references, family, id, object)
				size += int64(entrySize + len(object))
			}
		}
	}
	for kind, codes := range others.codes {
		for code, l := range codes {
			if _, ok := n.codes[kind][code]; !ok {
				put(n.codes, kind, code, l)
				size += int64(entrySize + len(code) + len(l.object) + len(l.score))
			}
		}
	}
	return size
}

// want adds entries of others that are not known yet, up to a limit. Their names are to be read.
func (n names) want(others, known names, limit int) {
	for family, references := range others.references {
		for id := range references {
			if limit == 0 {
				return
			}
			if _, ok := known.references[family][id]; !ok {
				put(n.references, family, id, "")
				limit--
			}
		}
	}
	for kind, codes := range others.codes {
		for code := range codes {
			if limit == 0 {
				return
			}
			if _, ok := known.codes[kind][code]; !ok {
				put(n.codes, kind, code, label{})
				limit--
			}
		}
	}
}

// arguments are those of the statement that reads the names of all entries, after the phone system.
func (n names) arguments() (arguments []any) {
	for _, family := range []string{"call_group", "extension", "representative"} {
		ids := make([]pgtype.UUID, 0, len(n.references[family]))
		for id := range n.references[family] {
			ids = append(ids, schema.UUID(id))
		}
		arguments = append(arguments, ids)
	}
	for _, kind := range []string{"category", "overall_sentiment", "employee_sentiment", "customer_sentiment"} {
		arguments = append(arguments, slices.Collect(maps.Keys(n.codes[kind])))
	}
	return arguments
}

// read replaces the entries by what the statement found, and returns the edition of its snapshot. A code's last label counts.
func (n names) read(rows pgx.Rows) (e edition, err error) {
	n.setDefaults()
	var (
		family, code, name, number pgtype.Text
		id                         pgtype.UUID
		score                      pgtype.Float8
	)
	targets := []any{&e, &family, &id, &code, &name, &number, &score}
	if !rows.Next() {
		return e, noRow(rows)
	}
	for more := true; more; more = rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return e, err
		}
		switch {
		case id.Valid && !name.Valid:
			put(n.references, family.String, id.Bytes, "")
		case id.Valid:
			put(n.references, family.String, id.Bytes, newReference(id.Bytes, name.String, number))
		case code.Valid:
			put(n.codes, family.String, code.String, newLabel(code.String, name.String, score))
		}
	}
	return e, nil
}

// setDefaults sets the entries to those of references whose target is unknown, and of codes without classification.
func (n names) setDefaults() {
	for family, references := range n.references {
		for id := range references {
			references[id] = unknownReference(family, id)
		}
	}
	for _, codes := range n.codes {
		for code := range codes {
			codes[code] = newLabel(code, "", pgtype.Float8{})
		}
	}
}

// unknownReference is the object of a reference to something that no event has defined yet. Its name depends on the id alone.
func unknownReference(family string, id uuid.UUID) string {
	short := id.String()[:8]
	switch family {
	case "call_group":
		return newReference(id, "Call group "+short, pgtype.Text{Valid: true})
	case "extension":
		return newReference(id, "Extension "+short, pgtype.Text{Valid: true})
	}
	return newReference(id, "Representative "+short, pgtype.Text{})
}

func newReference(id uuid.UUID, name string, number pgtype.Text) string {
	b := encode.UUID([]byte(`{"id":`), id)
	b = append(b, `,"name":`...)
	b = encode.String(b, name)
	if number.Valid {
		b = append(b, `,"number":`...)
		b = encode.String(b, number.String)
	}
	return string(append(b, '}'))
}

func newLabel(code, text string, score pgtype.Float8) label {
	b := encode.String([]byte(`{"code":`), code)
	b = append(b, `,"label":`...)
	b = encode.String(b, Label(code, text))
	l := label{object: string(append(b, '}')), score: "null"}
	if score.Valid {
		l.score = string(encode.Float(nil, score.Float64))
	}
	return l
}
