package readapi

import (
	"context"
	"math"
	"net/url"
	"slices"
	"strconv"

	"callboard/readapi/encode"
	"callboard/readapi/query"
)

// page says which part of a list is requested.
type page struct {
	number, size int64
}

// offset is the number of rows before the page, at most [math.MaxInt64].
func (g page) offset() int64 {
	if g.number-1 > math.MaxInt64/g.size {
		return math.MaxInt64
	}
	return (g.number - 1) * g.size
}

// count is the number of pages that total rows fill.
func (g page) count(total int64) int64 { return (total + g.size - 1) / g.size }

// append writes the members that follow a list's rows.
func (g page) append(b []byte, total int64) []byte {
	b = strconv.AppendInt(append(b, `,"total":`...), total, 10)
	b = strconv.AppendInt(append(b, `,"page":`...), g.number, 10)
	b = strconv.AppendInt(append(b, `,"pageSize":`...), g.size, 10)
	b = strconv.AppendInt(append(b, `,"totalPages":`...), g.count(total), 10)
	return append(b, '}')
}

// filter is a query parameter whose value a list's rows must have in a column.
type filter struct {
	name   string
	column query.Column
	read   func(p *parameters, name string) string // the column's value; empty: not given, or invalid
}

// datedList answers with a page of dated rows, newest first. The link to the next page sets dateTo to the newest row's
// date, which is never after the request's dateTo, so that new rows don't move the later pages. A row that is added
// with an earlier date still moves them.
func datedList(list *query.List, row *encode.Layout, filters ...filter) handler {
	return func(ctx context.Context, q *request, out *reply) error {
		page := q.parameters.page()
		found, err := q.list(ctx, out, list, row, page, q.filter(page, q.parameters.window(), filters))
		if err != nil {
			return err
		}

		if page.number < page.count(found.Total) {
			out.next = q.next(page, parameter{name: "dateTo", value: string(encode.Time(nil, found.Newest))})
		}
		return nil
	}
}

// filter reads a list's filters. Invalid values are added to the parameters' problems.
func (q *request) filter(g page, w query.Window, filters []filter) query.Filter {
	f := query.Filter{
		System: q.system, Window: w, Narrowing: q.narrowing, Offset: g.offset(), Limit: g.size,
	}

	for _, parameter := range filters {
		if value := parameter.read(q.parameters, parameter.name); value != "" {
			f.Exact = append(f.Exact, query.Exact{Column: parameter.column, Value: value})
		}
	}
	return f
}

// list fills the reply with a page.
func (q *request) list(
	ctx context.Context, out *reply, list *query.List, row *encode.Layout, g page, f query.Filter,
) (query.Page, error) {
	if err := q.prepare(ctx, out); err != nil {
		return query.Page{}, err
	}

	rows := q.rows(row, append(out.body, `{"data":[`...))
	found, err := list.Page(ctx, f, rows)
	out.body, out.leftOut = g.append(append(rows.Body, ']'), found.Total), rows.LeftOut
	out.completeThrough = found.CompleteThrough
	return found, err
}

// next is the URL of the next page with the request's parameters, except those in pinned, which replace them.
func (q *request) next(g page, pinned ...parameter) string {
	values := make(url.Values)
	for _, p := range slices.Concat(q.parameters.given, pinned) {
		values.Set(p.name, p.value)
	}
	values.Set("page", strconv.FormatInt(g.number+1, 10))
	return q.url + "?" + values.Encode()
}

// detail answers with one row.
func detail(one *query.Detail, row *encode.Layout) handler {
	return func(ctx context.Context, q *request, out *reply) error {
		if err := q.prepare(ctx, out); err != nil {
			return err
		}

		rows := q.rows(row, out.body)
		found, err := one.Find(ctx, query.Key{System: q.system, ID: q.id, Narrowing: q.narrowing}, rows)
		if err != nil {
			return err
		}

		out.body, out.leftOut, out.completeThrough = rows.Body, rows.LeftOut, found
		out.hasETag = true
		return nil
	}
}
