package query

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"callboard/readapi/access"
	"callboard/readapi/encode"
	"callboard/schema"
)

var (
	//go:embed list_accessible_phone_systems_of_system.sql
	phoneSystemsOfSystemSQL string

	//go:embed list_accessible_phone_systems_of_group.sql
	phoneSystemsOfGroupSQL string

	//go:embed list_accessible_phone_systems_of_organization.sql
	phoneSystemsOfOrganizationSQL string
)

// PhoneSystems appends the ids and names of the phone systems that a grant covers now to out, by name and then by id:
// the phone system, the members of the group, or what belongs directly to the organization.
func (p *Projection) PhoneSystems(ctx context.Context, g access.Grant, out *encode.RowWriter) (err error) {
	switch g.Kind {
	case access.GrantSystem:
		err = p.ofSystem(p.runShort(ctx), phoneSystemsOfSystemSQL, g.ID, nil, appendRows(out))
	case access.GrantGroup:
		err = p.runShort(ctx)(phoneSystemsOfGroupSQL, []any{schema.UUID(g.ID)}, appendRows(out))
	case access.GrantOrganization:
		err = p.runShort(ctx)(phoneSystemsOfOrganizationSQL, []any{schema.UUID(g.ID)}, appendRows(out))
	}
	if err != nil {
		return fmt.Errorf("list phone systems: %w", err)
	}
	return nil
}

// appendRows returns what appends a statement's rows to out.
func appendRows(out *encode.RowWriter) read {
	return func(rows pgx.Rows) error {
		for first := true; rows.Next(); first = false {
			if first {
				if err := out.Begin(rows.FieldDescriptions()); err != nil {
					return err
				}
			}

			if err := out.Append(rows.RawValues()); err != nil {
				return err
			}
		}
		return nil
	}
}
