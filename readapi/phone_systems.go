package readapi

import (
	"context"

	"callboard/readapi/access"
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
		if err := covered(ctx, p, q.auth.Grant, rows); err != nil {
			return err
		}
		out.body, out.leftOut = append(rows.Body, `]}`...), rows.LeftOut
		out.hasETag = true
		return nil
	}
}

func covered(ctx context.Context, p *query.Projection, g access.Grant, rows *encode.RowWriter) error {
	switch g.Kind {
	case access.GrantSystem:
		return p.PhoneSystemsOfSystem(ctx, g.ID, rows)
	case access.GrantGroup:
		return p.PhoneSystemsOfGroup(ctx, g.ID, rows)
	default:
		return p.PhoneSystemsOfOrganization(ctx, g.ID, rows)
	}
}
