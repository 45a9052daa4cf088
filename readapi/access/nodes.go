package access

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema"
)

var (
	//go:embed key.sql
	keySQL string

	//go:embed coverage.sql
	coverageSQL string

	//go:embed age_of_partition.sql
	ageOfPartitionSQL string

	//go:embed age_of_organization.sql
	ageOfOrganizationSQL string
)

const partitionsSQL = "select coalesce(partitions, 0) from projection.generation"

// readKeyOnNodes reads a key from the coordinator, then its coverage from the node that has the partition, so that no
// other node needs to be up. The two reads are not one snapshot.
func (a *Authorizer) readKeyOnNodes(
	ctx context.Context, conn *pgxpool.Conn, t AuthorizeParams, in, global int16,
) (c candidate, age pgtype.Float8, partitions int, err error) {
	p := &c.authorization
	var extension pgtype.UUID
	began := time.Now()
	err = conn.QueryRow(ctx, keySQL, t.Credential.Key.Short()).Scan(
		(*[16]byte)(&p.KeyID), (*[16]byte)(&p.Lineage), &c.hash, &c.pepperID, &p.Grant.Kind, (*[16]byte)(&p.Grant.ID), &p.scopes, &c.networks, &p.Tier,
		&c.revoked, &c.expired, &extension,
	)
	if err != nil {
		return c, age, 0, err
	}
	coordinator := time.Since(began)
	p.Narrowing.On = extension.Valid
	grant := schema.UUID(p.Grant.ID)
	if t.System == uuid.Nil {
		err = conn.QueryRow(ctx, partitionsSQL).Scan(&partitions)
	} else {
		system := schema.UUID(t.System)
		err = a.outages.read(ctx, in, coordinator, func(ctx context.Context) error {
			return conn.QueryRow(ctx, coverageSQL, in, system, p.Grant.Kind, grant, extension).
				Scan(&p.Covered, &age, &p.Narrowing.Extension, &partitions)
		})
	}
	if err != nil {
		return c, age, 0, err
	}
	switch {
	case p.Grant.Kind == GrantGroup:
		err = a.outages.read(ctx, global, coordinator, func(ctx context.Context) error {
			return conn.QueryRow(ctx, ageOfPartitionSQL, global).Scan(&age)
		})
	case p.Grant.Kind == GrantOrganization && t.System == uuid.Nil:
		err = conn.QueryRow(ctx, ageOfOrganizationSQL, grant).Scan(&age)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return c, age, partitions, err
}
