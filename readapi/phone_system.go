package readapi

import (
	"context"

	"callboard/readapi/access"
	"callboard/readapi/query"
)

// discovery answers with the phone systems that the key covers at this moment.
func discovery(p *query.Projection) answer {
	return func(ctx context.Context, q *request, out *reply) error {
		if err := q.parameters.problem(); err != nil {
			return err
		}
		systems, err := accessible(ctx, p, q.permit.Grant)
		if err != nil {
			return err
		}
		b := append(out.body, `{"data":[`...)
		for i, s := range systems {
			b = append(b, separator(i, "")...)
			b = append(b, `{"id":`...)
			b = appendUUID(b, s.ID)
			b = append(b, `,"name":`...)
			b = appendString(b, s.Name)
			b = append(b, '}')
		}
		out.body = append(b, `]}`...)
		out.tagged = true
		return nil
	}
}

func accessible(ctx context.Context, p *query.Projection, g access.Grant) ([]query.PhoneSystem, error) {
	switch g.Kind {
	case access.GrantSystem:
		return p.PhoneSystemsOfSystem(ctx, g.ID)
	case access.GrantGroup:
		return p.PhoneSystemsOfGroup(ctx, g.ID)
	default:
		return p.PhoneSystemsOfOrganization(ctx, g.ID)
	}
}
