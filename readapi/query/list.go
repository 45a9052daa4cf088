package query

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/readapi/encode"
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
	CompleteThrough time.Time // every event that was stored before it is in the page
	Total           int64
	Newest          time.Time // createdAt of the list's first row; zero: the list is empty
}

// Page appends a page's rows to out. It returns [ErrNotFound] if the phone system doesn't exist.
func (l *List) Page(ctx context.Context, f Filter, out *encode.RowWriter) (Page, error) {
	sql, arguments, err := l.statement(f)
	if err != nil {
		return Page{}, err
	}

	var page Page
	err = l.projection.ofSystem(l.projection.runShort(ctx), sql, f.System, arguments, func(rows pgx.Rows) error {
		return page.read(rows, out)
	})
	if err != nil {
		return Page{}, fmt.Errorf("list %s: %w", l.name, err)
	}
	return page, nil
}

// read appends the rows of a page's statement. Every row begins with the watermark, the total and the newest row's
// createdAt. A page without rows is returned as one row whose other columns are null.
func (p *Page) read(rows pgx.Rows, out *encode.RowWriter) error {
	const common = 3
	var newest pgtype.Timestamptz
	if !rows.Next() {
		return noRow(rows)
	}
	if err := scanFirst(rows, &p.CompleteThrough, &p.Total, &newest); err != nil {
		return err
	}
	p.Newest = newest.Time

	if err := out.Begin(rows.FieldDescriptions()[common:]); err != nil {
		return err
	}
	for more := rows.RawValues()[common] != nil; more; more = rows.Next() {
		if err := out.Append(rows.RawValues()[common:]); err != nil {
			return err
		}
	}
	return nil
}

// scanFirst scans the row's first columns.
func scanFirst(rows pgx.Rows, targets ...any) error {
	n := len(targets)
	return pgx.ScanRow(rows.TypeMap(), rows.FieldDescriptions()[:n], rows.RawValues()[:n], targets...)
}

// statement is that of the path with exactly the filter's columns. A filter without such a path is an error: it must
// not be ignored.
func (l *List) statement(f Filter) (sql string, arguments []any, err error) {
	count := len(f.Exact)
	if f.Narrowing.On {
		count++
	}

	// A path with fewer columns than the filter would return rows that do not match.
	for _, p := range l.paths {
		if values, ok := p.values(f); ok && len(p.columns) == count {
			sql, arguments = p.statement(f, values)
			return sql, arguments, nil
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
	return values, true
}
