package query

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/readapi/encode"
	"callboard/schema"
)

//go:embed list_accessible_phone_systems_of_system.sql
var phoneSystemsOfSystemSQL string

// PhoneSystemsOfSystem appends the id and the name of the one system of that id to out, if it exists.
func (p *Projection) PhoneSystemsOfSystem(ctx context.Context, system uuid.UUID, out *encode.RowWriter) error {
	if err := p.ofSystem(p.runShort(ctx), phoneSystemsOfSystemSQL, system, nil, appendRows(out)); err != nil {
		return fmt.Errorf("list phone systems: %w", err)
	}
	return nil
}

//go:embed list_accessible_phone_systems_of_group.sql
var phoneSystemsOfGroupSQL string

// PhoneSystemsOfGroup appends the ids and names of the group's current members to out, by name and then by id.
func (p *Projection) PhoneSystemsOfGroup(ctx context.Context, group uuid.UUID, out *encode.RowWriter) error {
	return p.phoneSystems(ctx, phoneSystemsOfGroupSQL, group, out)
}

//go:embed list_accessible_phone_systems_of_organization.sql
var phoneSystemsOfOrganizationSQL string

// PhoneSystemsOfOrganization appends the ids and names of the systems that belong directly to the organization to
// out, by name and then by id.
func (p *Projection) PhoneSystemsOfOrganization(ctx context.Context, organization uuid.UUID, out *encode.RowWriter) error {
	return p.phoneSystems(ctx, phoneSystemsOfOrganizationSQL, organization, out)
}

func (p *Projection) phoneSystems(ctx context.Context, sql string, target uuid.UUID, out *encode.RowWriter) error {
	if err := p.query(ctx, sql, []any{schema.UUID(target)}, appendRows(out)); err != nil {
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
