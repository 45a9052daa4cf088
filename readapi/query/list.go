package query

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// List reads pages of a list's rows, newest first, then by descending id.
type List struct {
	projection *Projection
	name       string
	paths      []path
}

func (p *Projection) list(name string, s listSource) *List {
	return &List{projection: p, name: name, paths: s.paths()}
}

// Page is what a page's statement returns beside its rows.
type Page struct {
	CompleteThrough time.Time // every event stored before it is in the answer
	Total           int64
	Newest          time.Time // createdAt of the list's first row; zero: the list is empty
}

// Page reads a page. For every row it scans the columns into the targets, in the statement's order, and calls take. It returns
// [ErrNotFound] if the phone system doesn't exist.
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

// read reads the rows of a page's statement. Every row begins with the watermark, the total and the newest row's createdAt. A page
// without rows is returned as one row whose other columns are null.
func (p *Page) read(rows pgx.Rows, targets []any, take func()) error {
	if !rows.Next() {
		return noRow(rows)
	}
	var newest pgtype.Timestamptz
	into := append([]any{&p.CompleteThrough, &p.Total, &newest}, targets...)
	if rows.RawValues()[3] == nil {
		clear(into[3:]) // Scan skips nil targets
		take = func() {}
	}
	for more := true; more; more = rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		take()
		clear(into[:3]) // the first row had them
	}
	p.Newest = newest.Time
	return nil
}

// statement is that of the path with exactly the filter's columns. A filter without such a path is an error: it must not be
// ignored.
func (l *List) statement(f Filter) (sql string, arguments []any, err error) {
	count := len(f.Exact)
	if f.Narrowing.On {
		count++
	}
	for _, p := range l.paths {
		if values, ok := p.values(f); ok && len(p.columns) == count {
			return p.sql, append(p.windowArguments(f), values...), nil
		}
	}
	return "", nil, fmt.Errorf("list %s: no statement for the filter %v, narrowed: %t", l.name, f.Exact, f.Narrowing.On)
}

// values are the filter's values for the path's columns, if it has all of them.
func (p path) values(f Filter) (values []any, ok bool) {
	for _, c := range p.columns {
		value, given := f.exact(c)
		if !given {
			return nil, false
		}
		values = append(values, value)
	}
	if p.counted && values == nil {
		return []any{""}, true // the subset of all rows
	}
	return values, true
}

// windowArguments are the arguments before the values.
func (p path) windowArguments(f Filter) []any {
	w := f.Window.ordered()
	arguments := []any{pgUUID(f.System), w.From, w.Until, f.Offset, f.Limit}
	if p.counted {
		wholeFrom, wholeUntil := w.wholeDays()
		arguments = append(arguments, wholeFrom, wholeUntil)
	}
	return arguments
}
