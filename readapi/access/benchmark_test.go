package access

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema/schematest"
)

// BenchmarkAuthorize measures Authorize with 10,000 keys and 10,000 phone systems in the tables, beside a round trip to PostgreSQL.
func BenchmarkAuthorize(b *testing.B) {
	h := newHarness(b)
	organization, group := uuid.New(), uuid.New()
	var systems []uuid.UUID
	for range 10_000 {
		systems = append(systems, uuid.New())
	}
	h.exec(`insert into projection.phone_system (id, version, name, organization_id, partition)
		select id, 1, 'system', $2, 0 from unnest($1::uuid[]) id`, systems, organization)
	h.exec("insert into projection.phone_system_group_member (group_id, system_id) select $1, unnest($2::uuid[])", group, systems)
	h.exec(`insert into access.key (id, lineage, name, short, hash, pepper_id, grant_kind, grant_id, scopes)
		select id, id, 'other', id::text, '', '', 'system', id, '{}' from unnest($1::uuid[]) id`, systems)
	h.exec("analyze")
	pool := schematest.OpenPoolLike(b, h.reader, func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan" // as readers have it
	})
	a, err := NewAuthorizer(pool, []Pepper{h.pepper}, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	for _, grant := range []Grant{{GrantSystem, systems[0]}, {GrantGroup, group}, {GrantOrganization, organization}} {
		request := minimalSpec()
		request.Grant = grant
		attempt := AuthorizeParams{Credential: Credential{Kind: TenantKey, Key: h.issue(request).Key}, System: systems[0]}
		b.Run(string(grant.Kind), func(b *testing.B) {
			percentiles(b, func() error {
				authorization, err := a.Authorize(context.Background(), attempt)
				if !authorization.Covered {
					b.Error("covered = false")
				}
				return err
			})
		})
	}
	b.Run("round trip", func(b *testing.B) {
		percentiles(b, func() error {
			rows, _ := h.reader.Query(context.Background(), "select 1")
			_, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
			return err
		})
	})
}

func percentiles(b *testing.B, work func() error) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := work(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
