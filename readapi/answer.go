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
	permit     access.Permit
	parameters *parameters
	url        string // of the operation, without a query
}

// narrowing is what the key's narrowing means to queries on calls.
func (q *request) narrowing() query.Narrowing { return query.Narrowing(q.permit.Narrowing) }

// reply is a successful answer before it is written.
type reply struct {
	body            []byte
	completeThrough time.Time // zero: not said
	next            string    // URL of the next page; empty: none
	tagged          bool      // has a strong ETag
}

// answer fills the reply to an admitted request. Its errors are those that problemOf knows.
type answer func(context.Context, *request, *reply) error

// datedList answers with a page of what happened, newest first.
func datedList[F, R any](
	filter func(*request, page, query.Window) F,
	find func(context.Context, F) (query.Page[R], error),
	row func([]byte, *request, *R) []byte,
) answer {
	return func(ctx context.Context, q *request, out *reply) error {
		page := q.parameters.page()
		f := filter(q, page, q.parameters.window())
		if err := q.parameters.problem(); err != nil {
			return err
		}
		found, err := find(ctx, f)
		if err != nil {
			return err
		}
		b := append(out.body, `{"data":[`...)
		for i := range found.Rows {
			b = append(b, separator(i, "")...)
			b = row(b, q, &found.Rows[i])
		}
		out.body = appendPage(append(b, ']'), page, found.Total)
		out.completeThrough = found.CompleteThrough
		if page.number < page.of(found.Total) {
			out.next = q.next(page, found.Newest)
		}
		return nil
	}
}

// detail answers with one row.
func detail[K, R any](
	key func(*request) K,
	find func(context.Context, K) (query.Found[R], error),
	row func([]byte, *request, *R) []byte,
) answer {
	return func(ctx context.Context, q *request, out *reply) error {
		if err := q.parameters.problem(); err != nil {
			return err
		}
		found, err := find(ctx, key(q))
		if err != nil {
			return err
		}
		out.body = row(out.body, q, &found.Row)
		out.completeThrough = found.CompleteThrough
		out.tagged = true
		return nil
	}
}
