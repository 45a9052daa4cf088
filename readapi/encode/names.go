package encode

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// Names has the names and labels that a page's rows refer to, as JSON.
type Names interface {
	// Reference is the object of a reference, or empty if its target was deleted.
	Reference(family string, id uuid.UUID) string

	// Code is the object of a code with its label, and the score of its classification.
	Code(kind string, code []byte) (object, score string)
}

// Named is a reference with the names of its target, or null if the target was deleted. Its column is the identifier.
func Named(name, family string) Member {
	return Member{name, []uint32{pgtype.UUIDOID}, func(b []byte, r *RowWriter, columns [][]byte) []byte {
		object := r.Names.Reference(family, uuid.UUID(columns[0]))
		switch {
		case object == "":
			return append(b, "null"...)
		case !r.fits(b, len(object)):
			return b
		}
		return append(b, object...)
	}}
}

// Code is a code with its label.
func Code(name, kind string) Member {
	return Member{name, []uint32{pgtype.TextOID}, func(b []byte, r *RowWriter, columns [][]byte) []byte {
		object, _ := r.Names.Code(kind, columns[0])
		if !r.fits(b, len(object)) {
			return b
		}
		return append(b, object...)
	}}
}

// ScoredCode is a code with its label and score. Its columns are the code and the score. If the score is NULL, that of
// the code's classification is written.
func ScoredCode(name, kind string) Member {
	return Member{name, []uint32{pgtype.TextOID, pgtype.Float8OID}, func(b []byte, r *RowWriter, columns [][]byte) []byte {
		object, score := r.Names.Code(kind, columns[0])

		// The score follows the label in the same object, so the closing brace is left out.
		if object = object[:len(object)-len("}")]; r.fits(b, len(object)) {
			b = append(b, object...)
		}

		b = append(b, `,"score":`...)
		if columns[1] != nil {
			b = appendDouble(b, columns[1])
		} else {
			b = append(b, score...)
		}

		return append(b, '}')
	}}
}
