package readapi

import (
	"context"

	"callboard/readapi/encode"
	"callboard/readapi/query"
)

// phoneSystems answers with the phone systems that the key's grant covers now.
func phoneSystems(p *query.Projection) handler {
	row := encode.NewLayout(encode.Identifier("id"), encode.Text("name"))

	return func(ctx context.Context, q *request, out *reply) error {
		if err := q.prepare(ctx, out); err != nil {
			return err
		}

		rows := q.rows(row, append(out.body, `{"data":[`...))
		if err := p.PhoneSystems(ctx, q.auth.Grant, rows); err != nil {
			return err
		}

		out.body, out.leftOut = append(rows.Body, `]}`...), rows.LeftOut
		out.hasETag = true
		return nil
	}
}
