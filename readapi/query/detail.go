package query

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/readapi/encode"
)

// Detail reads one row by its key.
type Detail struct {
	projection *Projection
	name       string
	sql        string
	narrowed   string // the statement for narrowed keys; empty: the detail can't be narrowed
}

// Key identifies a row.
type Key struct {
	System    uuid.UUID
	ID        string
	Narrowing Narrowing // of details that can be narrowed
}

//go:embed detail.sql
var detailSQL string

// detail composes the statement for the row whose id column equals the key's ID. In the detail's rows, {{columns}} stands for the
// columns of the list's.
func (p *Projection) detail(name, rows, list string, id Column) *Detail {
	rows = strings.ReplaceAll(rows, "{{columns}}", columns(list))
	sql := strings.ReplaceAll(detailSQL, "{{rows}}", equals(id).and(rows, "$3"))
	return &Detail{projection: p, name: name, sql: p.withoutUnreadPosition(sql)}
}

// columns are what a list's statement selects.
func columns(list string) string {
	_, list, _ = strings.Cut(list, "select\n  ")
	list, _, _ = strings.Cut(list, "\nfrom ")
	return list
}

func (p *Projection) narrowableDetail(name, rows, list string, ofExtension condition) *Detail {
	d := p.detail(name, rows, list, "id")
	d.narrowed = p.detail(name, ofExtension.and(rows, "$4"), list, "id").sql
	return d
}

// Find appends the row to out and returns what it was read from. It returns [ErrNotFound] if there is no such row.
func (d *Detail) Find(ctx context.Context, k Key, out *encode.RowWriter) (Snapshot, error) {
	var found Snapshot
	sql, arguments := d.statement(k)
	common := d.projection.targets(&found)
	err := d.projection.ofSystem(d.projection.runShort(ctx), sql, k.System, arguments, func(rows pgx.Rows) error {
		if !rows.Next() {
			return noRow(rows)
		}
		if rows.RawValues()[len(common)] == nil {
			return ErrNotFound
		}
		if err := scanFirst(rows, common...); err != nil {
			return err
		}
		if err := out.Begin(rows.FieldDescriptions()[len(common):]); err != nil {
			return err
		}
		return out.Append(rows.RawValues()[len(common):])
	})
	if err != nil {
		return Snapshot{}, fmt.Errorf("get %s: %w", d.name, err)
	}
	return found, nil
}

func (d *Detail) statement(k Key) (sql string, arguments []any) {
	arguments = []any{k.ID}
	if k.Narrowing.On {
		return d.narrowed, append(arguments, k.Narrowing.argument())
	}
	return d.sql, arguments
}
