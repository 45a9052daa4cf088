package readapi

import (
	"context"

	"callboard/readapi/access"
	"callboard/readapi/encode"
	"callboard/readapi/query"
)

// phoneSystems answers with the phone systems that the key's grant covers now.
func phoneSystems(p *query.Projection) handler {
	return func(ctx context.Context, q *request, out *reply) error {
		if err := q.prepare(ctx, plainBytes); err != nil {
			return err
		}
		systems, err := covered(ctx, p, q.auth.Grant)
		if err != nil {
			return err
		}
		b := append(out.body, `{"data":[`...)
		for i, s := range systems {
			b = append(b, separator(i, "")...)
			b = encode.UUID(append(b, `{"id":`...), s.ID)
			b = encode.String(append(b, `,"name":`...), s.Name)
			b = append(b, '}')
		}
		out.body = append(b, `]}`...)
		out.hasETag = true
		return nil
	}
}

func covered(ctx context.Context, p *query.Projection, g access.Grant) ([]query.PhoneSystem, error) {
	switch g.Kind {
	case access.GrantSystem:
		return p.PhoneSystemsOfSystem(ctx, g.ID)
	case access.GrantGroup:
		return p.PhoneSystemsOfGroup(ctx, g.ID)
	default:
		return p.PhoneSystemsOfOrganization(ctx, g.ID)
	}
}
