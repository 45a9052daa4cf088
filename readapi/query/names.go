package query

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/readapi/encode"
	"callboard/schema"
)

// edition identifies what a phone system's directory showed in a snapshot. Snapshots with equal editions have equal
// directories.
type edition string

// names are the names of references and the labels of codes.
type names map[nameKey]shownName

// nameKey is a reference by its family and id, or a code by its kind.
type nameKey struct {
	family string
	id     uuid.UUID
	code   string
}

// shownName is the JSON that pages show.
type shownName struct {
	object string // of a reference, or of a code with its label; empty: the target was deleted
	score  string // of a code's classification
}

// entrySize is what a name takes beside its JSON: its key, and its share of the map, which is two thirds full.
const entrySize = 128

// add adds the names that are not there, and returns the bytes that these take.
func (n names) add(others names) (size int64) {
	for key, shown := range others {
		if _, ok := n[key]; !ok {
			n[key] = shown
			size += int64(entrySize + len(key.code) + len(shown.object) + len(shown.score))
		}
	}
	return size
}

// arguments are the keys for names.sql, after the partition and the phone system.
func (n names) arguments() (arguments []any) {
	// The arguments have the order of the numbers in names.sql.
	for _, family := range []string{"call_group", "extension", "representative"} {
		ids := []pgtype.UUID{}
		for key := range n {
			if key.family == family {
				ids = append(ids, schema.UUID(key.id))
			}
		}
		arguments = append(arguments, ids)
	}

	for _, kind := range []string{"category", "overall_sentiment", "employee_sentiment", "customer_sentiment"} {
		codes := []string{}
		for key := range n {
			if key.family == kind {
				codes = append(codes, key.code)
			}
		}
		arguments = append(arguments, codes)
	}

	return arguments
}

// read sets the names of all keys to what the statement found, and returns the edition of its snapshot. A code's last
// label counts.
func (n names) read(rows pgx.Rows) (e edition, err error) {
	// A key without a row keeps a name that depends on the key alone.
	for key := range n {
		n[key] = unknownName(key)
	}

	if !rows.Next() {
		return e, noRow(rows)
	}

	var (
		family, code, name, number pgtype.Text
		id                         pgtype.UUID
		score                      pgtype.Float8
	)
	for more := true; more; more = rows.Next() {
		if err := rows.Scan(&e, &family, &id, &code, &name, &number, &score); err != nil {
			return e, err
		}

		// A deleted target has an identifier but no name.
		key := nameKey{family: family.String, id: id.Bytes, code: code.String}
		switch {
		case id.Valid && !name.Valid:
			n[key] = shownName{}
		case id.Valid:
			n[key] = newReference(id.Bytes, name.String, number)
		case code.Valid:
			n[key] = newLabel(code.String, name.String, score)
		}
	}
	return e, nil
}

// unknownName is the name of a reference whose target no event has defined yet, or the label of a code without a
// classification. It depends on the key alone.
func unknownName(key nameKey) shownName {
	short := key.id.String()[:8]
	switch key.family {
	case "call_group":
		return newReference(key.id, "Call group "+short, pgtype.Text{Valid: true})
	case "extension":
		return newReference(key.id, "Extension "+short, pgtype.Text{Valid: true})
	case "representative":
		return newReference(key.id, "Representative "+short, pgtype.Text{})
	}
	return newLabel(key.code, "", pgtype.Float8{})
}

func newReference(id uuid.UUID, name string, number pgtype.Text) shownName {
	b := encode.UUID([]byte(`{"id":`), id)
	b = append(b, `,"name":`...)
	b = encode.String(b, name)
	if number.Valid {
		b = append(b, `,"number":`...)
		b = encode.String(b, number.String)
	}
	return shownName{object: string(append(b, '}'))}
}

func newLabel(code, label string, score pgtype.Float8) shownName {
	b := encode.String([]byte(`{"code":`), code)
	b = append(b, `,"label":`...)
	b = encode.String(b, Label(code, label))
	shown := shownName{object: string(append(b, '}')), score: "null"}
	if score.Valid {
		shown.score = string(encode.Float(nil, score.Float64))
	}
	return shown
}
