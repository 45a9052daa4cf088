package access

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// BenchmarkAuthorize is what a request pays to be admitted, with 10,000 keys and 10,000 phone systems in the tables, beside a round trip
// that asks for nothing.
func BenchmarkAuthorize(b *testing.B) {
	d := newDesk(b)
	organization, group := uuid.New(), uuid.New()
	var systems []uuid.UUID
	for range 10_000 {
		systems = append(systems, uuid.New())
	}
	d.exec(`insert into projection.phone_system (id, version, name, organization_id, partition)
		select id, 1, 'system', $2, 0 from unnest($1::uuid[]) id`, systems, organization)
	d.exec("insert into projection.phone_system_group (id, version, name, phone_system_ids) values ($1, 1, 'group', $2)", group, systems[:500])
	d.exec(`insert into access.key (id, lineage, name, short, hash, pepper_id, grant_kind, grant_id, scopes)
		select id, id, 'other', id::text, '', '', 'system', id, '{}' from unnest($1::uuid[]) id`, systems)
	d.exec("analyze")
	a, err := NewAuthorizer(d.reader, []Pepper{d.pepper})
	if err != nil {
		b.Fatal(err)
	}
	for _, grant := range []Grant{{GrantSystem, systems[0]}, {GrantGroup, group}, {GrantOrganization, organization}} {
		request := plain()
		request.Grant = grant
		attempt := Attempt{Credential: Credential{Kind: TenantKey, Key: d.issue(request).Key}, System: systems[0]}
		b.Run(string(grant.Kind), func(b *testing.B) {
			percentiles(b, func() error {
				permit, err := a.Authorize(context.Background(), attempt)
				if !permit.Covered {
					b.Error("not covered")
				}
				return err
			})
		})
	}
	b.Run("round trip", func(b *testing.B) {
		percentiles(b, func() error {
			rows, err := d.reader.Query(context.Background(), "select 1")
			if err != nil {
				return err
			}
			_, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
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
