package query

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Page is one page of a list.
type Page[R any] struct {
	CompleteThrough time.Time // every event stored before this instant is in the answer
	Total           int64
	Newest          time.Time // createdAt of the list's first row; zero where the list is empty
	Rows            []R
}

// Found is one row.
type Found[R any] struct {
	CompleteThrough time.Time
	Row             R
}

// page runs a list's statement. Its first columns are watermark, total and newest, the same in every row; the others are those
// of a row, and null in the single row that is left of a page without any.
func page[R any](
	ctx context.Context, p *Projection, limit int64, targets func(*R) []any, sql string, arguments []any,
) (Page[R], error) {
	var result Page[R]
	err := p.query(ctx, sql, arguments, func(rows pgx.Rows) error {
		var row R
		var newest pgtype.Timestamptz
		into := append([]any{&result.CompleteThrough, &result.Total, &newest}, targets(&row)...)
		result.Rows = make([]R, 0, limit)
		if !rows.Next() {
			return absent(rows)
		}
		empty := rows.RawValues()[3] == nil
		if empty {
			clear(into[3:]) // a nil target is passed over
		}
		for more := true; more; more = rows.Next() {
			if err := rows.Scan(into...); err != nil {
				return err
			}
			if !empty {
				result.Rows = append(result.Rows, row)
			}
		}
		result.Newest = newest.Time
		return nil
	})
	return result, err
}

// found runs a detail's statement, whose first column is the watermark.
func found[R any](ctx context.Context, p *Projection, targets func(*R) []any, sql string, arguments []any) (Found[R], error) {
	var result Found[R]
	err := p.query(ctx, sql, arguments, func(rows pgx.Rows) error {
		if !rows.Next() {
			return absent(rows)
		}
		return rows.Scan(append([]any{&result.CompleteThrough}, targets(&result.Row)...)...)
	})
	return result, err
}

// absent is why there is no row.
func absent(rows pgx.Rows) error {
	if err := rows.Err(); err != nil {
		return err
	}
	return ErrNotFound
}
