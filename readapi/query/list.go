package query

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// List is a list's rows, newest first, then by descending id.
type List struct {
	projection *Projection
	name       string
	paths      []path
}

func (p *Projection) list(name string, s source) *List {
	return &List{projection: p, name: name, paths: s.paths()}
}

// Page is what is known of a list beside a page's rows.
type Page struct {
	CompleteThrough time.Time // every event stored before this instant is in the answer
	Total           int64
	Newest          time.Time // createdAt of the list's first row; zero where the list is empty
}

// Page reads a page row by row: the columns go to the targets, in the statement's order, and then the row is taken. The error
// is [ErrNotFound] where the phone system is not there.
func (l *List) Page(ctx context.Context, f Filter, targets []any, take func()) (Page, error) {
	sql, arguments, err := l.statement(f)
	if err != nil {
		return Page{}, err
	}
	var page Page
	err = l.projection.query(ctx, sql, arguments, func(rows pgx.Rows) error { return page.read(rows, targets, take) })
	if err != nil {
		return Page{}, fmt.Errorf("list %s: %w", l.name, err)
	}
	return page, nil
}

// read takes the rows of a list's statement. The first columns are watermark, total and newest, the same in every row; the
// others are those of a row, and null in the single row that is left of a page without any.
func (p *Page) read(rows pgx.Rows, targets []any, take func()) error {
	if !rows.Next() {
		return absent(rows)
	}
	var newest pgtype.Timestamptz
	into := append([]any{&p.CompleteThrough, &p.Total, &newest}, targets...)
	if rows.RawValues()[3] == nil {
		clear(into[3:]) // a nil target is passed over
		take = func() {}
	}
	for more := true; more; more = rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		take()
		clear(into[:3]) // known from the first row
	}
	p.Newest = newest.Time
	return nil
}

// statement is that of the path which has the filter's columns and no others: what can't be filtered by must not be ignored.
func (l *List) statement(f Filter) (sql string, arguments []any, err error) {
	given := len(f.Exact)
	if f.Own.On {
		given++
	}
	for _, p := range l.paths {
		if values, ok := p.values(f); ok && len(p.columns) == given {
			return p.sql, append(p.window(f), values...), nil
		}
	}
	return "", nil, fmt.Errorf("list %s: no path for %v, narrowed: %t", l.name, f.Exact, f.Own.On)
}

// values are the filter's for the path's columns, if it has all of them.
func (p path) values(f Filter) (values []any, ok bool) {
	for _, c := range p.columns {
		value, given := f.exact(c)
		if !given {
			return nil, false
		}
		values = append(values, value)
	}
	if p.paged && values == nil {
		return []any{""}, true // the subset that is every row
	}
	return values, true
}

// window is the arguments that come before the values.
func (p path) window(f Filter) []any {
	w := f.Window.normal()
	arguments := []any{key(f.System), w.From, w.Until, f.Offset, f.Limit}
	if p.paged {
		wholeFrom, wholeUntil := w.wholeDays()
		arguments = append(arguments, wholeFrom, wholeUntil)
	}
	return arguments
}
