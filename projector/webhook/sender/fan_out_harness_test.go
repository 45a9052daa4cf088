package sender_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events/eventstest"
	"callboard/projector/webhook/sender"
	"callboard/schema/schematest"
)

// fixture is a database with phone systems, and a fan-out in it.
type fixture struct {
	schematest.Test
	*sender.FanOut
}

// The streams of the tests.
const (
	streamA = "00000000-0000-4000-8000-00000000000a"
	streamB = "00000000-0000-4000-8000-00000000000b"
)

// id returns the n-th id.
func id(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)) }

// newFixture creates the phone systems 1 to 3. 1 and 2 are in partition 0, 3 is in partition 1.
func newFixture(t *testing.T, gate *sender.Gate) *fixture {
	t.Helper()
	f := &fixture{Test: schematest.NewTest(t, schematest.New(t))}
	f.FanOut = sender.NewFanOut(f.Database.RolePool(t, "callboard_webhooks"), gate)
	f.Exec(`insert into projection.phone_system (partition, id, version, name) values (0, $1, 1, 'A'), (0, $2, 1, 'B'), (1, $3, 1, 'C')`, id(1), id(2), id(3))
	return f
}

// endpoint registers an endpoint from a sequence on.
func (f *fixture) endpoint(n int, grant string, target uuid.UUID, from int, kinds ...string) {
	f.Helper()
	f.Exec(`insert into webhook.endpoint (id, name, url, kinds, grant_kind, grant_id, state, stream, from_sequence)
		values ($1, 'n', 'https://example.com', $2, $3, $4, 'active', '`+streamA+`', $5)`, id(100+n), kinds, grant, target, from)
}

// write writes a notice, the floor and the position, as a commit does.
func write(ctx context.Context, db *pgxpool.Pool, partition, sequence, ordinal int, system uuid.UUID, kind string) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			insert into webhook.notice (stream, partition, sequence, ordinal, id, kind, system_id, call_sid, at)
			values ('`+streamA+`', $1, $2, $3, $4, $5, $6, 'CA1', now())`,
			partition, sequence, ordinal, fmt.Sprintf("evt_%d_%d", sequence, ordinal), kind, system)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			insert into webhook.floor values ('`+streamA+`', $1, $2)
			on conflict (stream, partition) do update set sequence = greatest(floor.sequence, excluded.sequence)`, partition, sequence)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, applySQL, partition, streamA, sequence)
		return err
	})
}

// applySQL makes a database have the rows of a partition ($1) of a stream ($2) up to a sequence ($3).
const applySQL = `
	insert into projection.position (partition, stream, sequence, epoch, clock, watermark)
	values ($1, $2, $3, 1, now(), now())
	on conflict (partition) do update set stream = excluded.stream, sequence = excluded.sequence`

func (f *fixture) notice(partition, sequence, ordinal int, system uuid.UUID, kind string) {
	f.Helper()
	if err := write(f.Context(), f.Super, partition, sequence, ordinal, system, kind); err != nil {
		f.Fatal(err)
	}
}

// step fans out until nothing is left, and returns the sum of the results.
func (f *fixture) step() (sum sender.FanOutResult) {
	f.Helper()
	for {
		r, err := f.Step(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		sum.Notices, sum.Deliveries, sum.Skipped = sum.Notices+r.Notices, sum.Deliveries+r.Deliveries, sum.Skipped+r.Skipped
		if !r.More {
			return sum
		}
	}
}

// await steps until an endpoint has events. A busy database may answer the gate too late at first.
func (f *fixture) await(what string, n int, want string) {
	f.Helper()
	eventstest.Eventually(f.T, what, func() bool {
		f.step()
		return f.events(n) == want
	})
}

// events returns the ids of an endpoint's events in the order of its deliveries.
func (f *fixture) events(n int) string {
	f.Helper()
	return schematest.QueryOne[string](f, f.Super,
		"select coalesce(string_agg(substr(event_id, 5), ' ' order by id), '') from webhook.waiting where endpoint_id = $1", id(100+n))
}

func (f *fixture) expect(what string, n int, want string) {
	f.Helper()
	if got := f.events(n); got != want {
		f.Errorf("%s: events = %q, want %q", what, got, want)
	}
}
