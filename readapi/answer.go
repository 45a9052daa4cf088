package readapi

import (
	"context"
	"time"

	"callboard/readapi/access"
	"callboard/readapi/query"
)

// request is an admitted request, as far as an operation may look at it.
type request struct {
	identifiers
	permit     access.Authorization
	own        query.Narrowing // the permit's, where it concerns the operation
	parameters *parameters
	url        string // of the operation, without a query
}

// reply is a successful answer before it is written.
type reply struct {
	body            []byte
	completeThrough time.Time // zero: not said
	next            string    // URL of the next page; empty: none
	tagged          bool      // has a strong ETag
	untagged        int       // bytes at the body's beginning that the ETag leaves out
	unstored        bool      // Cache-Control: no-store
}

// answer fills the reply to an admitted request. Its errors are those that problemOf knows.
type answer func(context.Context, *request, *reply) error

// topologyList answers with a page of what a phone system is made of, newest first.
func topologyList(list *query.List, fields []field, filters []filter) answer {
	return func(ctx context.Context, q *request, out *reply) error {
		page := q.parameters.page()
		f := q.filter(page, query.Always(), filters)
		found, err := q.list(ctx, out, list, fields, page, f)
		if err != nil {
			return err
		}
		if page.number < page.of(found.Total) {
			out.next = q.next(page)
		}
		out.tagged = true
		return nil
	}
}

// datedList answers with a page of what happened, newest first. A window without an end gets one in the link to the next page,
// at the newest row, so that what happens during a walk does not move the rows that the walk has yet to see. What comes late,
// with an earlier date, still does.
func datedList(list *query.List, fields []field, filters []filter) answer {
	return func(ctx context.Context, q *request, out *reply) error {
		page := q.parameters.page()
		f := q.filter(page, q.parameters.window(), filters)
		found, err := q.list(ctx, out, list, fields, page, f)
		if err != nil {
			return err
		}
		if page.number < page.of(found.Total) {
			out.next = q.next(page, parameter{name: "dateTo", value: string(appendTime(nil, found.Newest))})
		}
		return nil
	}
}

// list fills the reply with a page.
func (q *request) list(
	ctx context.Context, out *reply, list *query.List, fields []field, g page, f query.Filter,
) (query.Page, error) {
	if err := q.parameters.problem(); err != nil {
		return query.Page{}, err
	}
	row, count := newRow(q, fields), 0
	out.body = append(out.body, `{"data":[`...)
	found, err := list.Page(ctx, f, row.targets, func() {
		out.body = row.append(append(out.body, separator(count, "")...))
		count++
	})
	out.body = appendPage(append(out.body, ']'), g, found.Total)
	out.completeThrough = found.CompleteThrough
	return found, err
}

// detail answers with one row.
func detail(one *query.Detail, fields []field) answer {
	return func(ctx context.Context, q *request, out *reply) error {
		if err := q.parameters.problem(); err != nil {
			return err
		}
		row := newRow(q, fields)
		var err error
		key := query.Key{System: q.system, ID: q.resource, Own: q.own}
		if out.completeThrough, err = one.Find(ctx, key, row.targets); err != nil {
			return err
		}
		out.body = row.append(out.body)
		out.tagged = true
		return nil
	}
}
