package access

import (
	"context"
	_ "embed"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
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

// readOnNodes reads a key from the coordinator, then its coverage from the node that has the partition, so that no
// other node needs to be up. The reads are not one snapshot.
func (a *Authorizer) readOnNodes(
	ctx context.Context, conn *pgxpool.Conn, t AuthorizeParams, in, global int16,
) (c candidate, err error) {
	c.keyColumns, err = queryRow[keyColumns](ctx, conn, keySQL, t.Credential.Key.Short())
	if err != nil {
		return candidate{}, err
	}

	// The nodes do not have the key, so the next statements are given the key's grant.
	grant := schema.UUID(c.GrantID)

	// The list of phone systems is covered by no partition.
	if t.System == uuid.Nil {
		err = conn.QueryRow(ctx, partitionsSQL).Scan(&c.Partitions)
	} else {
		err = a.outages.read(ctx, in, func(ctx context.Context) (err error) {
			system := schema.UUID(t.System)

			// The statement names one partition, so no other node takes part in it.
			c.coverageColumns, err = queryRow[coverageColumns](ctx, conn, coverageSQL, in, system, c.GrantKind, grant,
				c.OwnExtensionID)
			return err
		})
	}
	if err != nil {
		return candidate{}, err
	}

	// The age that coverage.sql can't know is in other partitions.
	switch {
	case c.GrantKind == GrantGroup:
		err = a.outages.read(ctx, global, func(ctx context.Context) error {
			return conn.QueryRow(ctx, ageOfPartitionSQL, global).Scan(&c.CoverageAge)
		})
	case c.GrantKind == GrantOrganization && t.System == uuid.Nil:
		err = conn.QueryRow(ctx, ageOfOrganizationSQL, grant).Scan(&c.CoverageAge)
	}
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return candidate{}, err
	}

	return c, nil
}
