package query

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/readapi/access"
	"callboard/readapi/encode"
)

// Detail reads one row by its key.
type Detail struct {
	projection *Projection
	name       string
	sql        string
	arguments  func(Key) []any // after the partition and the phone system
}

// Key identifies a row.
type Key struct {
	System    uuid.UUID
	ID        string
	Narrowing access.Narrowing // of details that can be narrowed
}

func (k Key) id() []any         { return []any{k.ID} }
func (k Key) narrowable() []any { return []any{k.ID, k.Narrowing.On, extensionOf(k.Narrowing)} }

// Find appends the row to out and returns the instant before which every event is in it. It returns [ErrNotFound] if
// there is no such row.
func (d *Detail) Find(ctx context.Context, k Key, out *encode.RowWriter) (completeThrough time.Time, err error) {
	err = d.projection.ofSystem(d.projection.runShort(ctx), d.sql, k.System, d.arguments(k), func(rows pgx.Rows) error {
		if !rows.Next() {
			return noRow(rows)
		}

		// The phone system exists, but it has no row that the key may read.
		if rows.RawValues()[1] == nil {
			return ErrNotFound
		}

		if err := scanFirst(rows, &completeThrough); err != nil {
			return err
		}

		// The first column is the watermark, and the other columns are the row.
		if err := out.Begin(rows.FieldDescriptions()[1:]); err != nil {
			return err
		}
		return out.Append(rows.RawValues()[1:])
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("get %s: %w", d.name, err)
	}
	return completeThrough, nil
}
