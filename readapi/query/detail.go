package query

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Detail is one row, found by its key.
type Detail struct {
	projection *Projection
	name       string
	every, own string // statements; own is empty for what doesn't belong to calls
}

// Key names one row.
type Key struct {
	System uuid.UUID
	ID     string
	Own    Narrowing // of what belongs to calls
}

//go:embed detail.sql
var detailSQL string

// detail composes the statement for the row whose key column equals the key's ID.
func (p *Projection) detail(name, rows string, id Column) *Detail {
	sql := strings.ReplaceAll(detailSQL, "{{rows}}", equals(id).and(rows, "$2"))
	return &Detail{projection: p, name: name, every: sql}
}

// ownDetail is a detail of what belongs to calls.
func (p *Projection) ownDetail(name, rows string, own condition) *Detail {
	d := p.detail(name, rows, "id")
	d.own = p.detail(name, own.and(rows, "$3"), "id").every
	return d
}

// Find reads the row into the targets and returns the watermark. The error is [ErrNotFound] where the row is not there.
func (d *Detail) Find(ctx context.Context, k Key, targets []any) (completeThrough time.Time, err error) {
	sql, arguments := d.statement(k)
	err = d.projection.query(ctx, sql, arguments, func(rows pgx.Rows) error {
		if !rows.Next() {
			return absent(rows)
		}
		return rows.Scan(append([]any{&completeThrough}, targets...)...)
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("get %s: %w", d.name, err)
	}
	return completeThrough, nil
}

func (d *Detail) statement(k Key) (sql string, arguments []any) {
	arguments = []any{key(k.System), k.ID}
	if k.Own.On {
		return d.own, append(arguments, k.Own.argument())
	}
	return d.every, arguments
}
