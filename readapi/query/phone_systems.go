package query

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/schema"
)

// PhoneSystem is an accessible phone system.
type PhoneSystem struct {
	ID   uuid.UUID
	Name string
}

//go:embed list_accessible_phone_systems_of_system.sql
var phoneSystemsOfSystemSQL string

// PhoneSystemsOfSystem lists the one system of that id, if it exists.
func (p *Projection) PhoneSystemsOfSystem(ctx context.Context, system uuid.UUID) ([]PhoneSystem, error) {
	systems := []PhoneSystem{}
	err := p.ofSystem(p.runShort(ctx), phoneSystemsOfSystemSQL, system, nil, readPhoneSystems(&systems))
	if err != nil {
		return nil, fmt.Errorf("list phone systems: %w", err)
	}
	return systems, nil
}

//go:embed list_accessible_phone_systems_of_group.sql
var phoneSystemsOfGroupSQL string

// PhoneSystemsOfGroup lists the group's current members, by name and then by id.
func (p *Projection) PhoneSystemsOfGroup(ctx context.Context, group uuid.UUID) ([]PhoneSystem, error) {
	return p.phoneSystems(ctx, phoneSystemsOfGroupSQL, group)
}

//go:embed list_accessible_phone_systems_of_organization.sql
var phoneSystemsOfOrganizationSQL string

// PhoneSystemsOfOrganization lists the systems that belong directly to the organization, by name and then by id.
func (p *Projection) PhoneSystemsOfOrganization(ctx context.Context, organization uuid.UUID) ([]PhoneSystem, error) {
	return p.phoneSystems(ctx, phoneSystemsOfOrganizationSQL, organization)
}

func (p *Projection) phoneSystems(ctx context.Context, sql string, target uuid.UUID) ([]PhoneSystem, error) {
	systems := []PhoneSystem{}
	if err := p.query(ctx, sql, []any{schema.UUID(target)}, readPhoneSystems(&systems)); err != nil {
		return nil, fmt.Errorf("list phone systems: %w", err)
	}
	return systems, nil
}

func readPhoneSystems(systems *[]PhoneSystem) read {
	return func(rows pgx.Rows) error {
		var s PhoneSystem
		*systems = (*systems)[:0]
		for rows.Next() {
			if err := rows.Scan((*[16]byte)(&s.ID), &s.Name); err != nil {
				return err
			}
			*systems = append(*systems, s)
		}
		return nil
	}
}
