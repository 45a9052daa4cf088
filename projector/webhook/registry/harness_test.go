package registry_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events/eventstest"
	"callboard/events/webhook"
	"callboard/projector/webhook/registry"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.RunAndFindLeaks(m) }

const (
	partitions = 4
	url        = "https://hooks.example.com/in?token=hunter2"
)

func stream() uuid.UUID { return uuid.MustParse("00000000-0000-4000-8000-00000000000a") }

// harness has a database and an operator's registry.
type harness struct {
	schematest.Test
	operator *pgxpool.Pool
	vault    *webhook.Vault
	*registry.Registry
	system uuid.UUID
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	t.Parallel()
	test := schematest.NewTest(t, schematest.New(t))
	operator := test.Database.RolePool(t, "callboard_operator")
	h := &harness{
		Test: test, operator: operator, vault: eventstest.NewVault(t, bytes.Repeat([]byte("k"), 32)),
		Registry: registry.New(operator, "ada"), system: uuid.New(),
	}
	h.addSystem(h.system, uuid.New())
	return h
}

func (h *harness) addSystem(id, organization uuid.UUID) {
	h.Helper()
	h.Exec("insert into projection.phone_system (partition, id, version, name, organization_id) values (0, $1, 1, 'Office', $2)", id, organization)
}

func (h *harness) candidate(target registry.Target) registry.Candidate {
	h.Helper()
	c, err := registry.NewCandidate("CRM", url, target, webhook.Kinds(), 8, h.vault)
	if err != nil {
		h.Fatal(err)
	}
	return c
}

// register adds an active endpoint of the harness's phone system, from a sequence on.
func (h *harness) register(sequence uint64) uuid.UUID {
	h.Helper()
	return h.registerFor(registry.Target{Kind: registry.System, ID: h.system}, sequence)
}

func (h *harness) registerFor(target registry.Target, sequence uint64) uuid.UUID {
	h.Helper()
	c := h.candidate(target)
	h.Must(h.Register(h.Context(), c))
	h.Must(h.Activate(h.Context(), c.ID(), origin(sequence)))
	return c.ID()
}

func origin(sequence uint64) registry.Origin {
	return registry.Origin{Stream: stream(), Sequence: sequence, Partitions: partitions}
}

func (h *harness) show(id uuid.UUID) registry.Detail {
	h.Helper()
	detail, err := h.Show(h.Context(), id)
	h.Must(err)
	return detail
}

// deliver creates waiting deliveries of sequences from first to last.
func (h *harness) deliver(endpoint uuid.UUID, first, last int) {
	h.Helper()
	h.Exec(`insert into webhook.delivery (endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, at)
		select $1, $2, n, 'evt_' || n, 'call.ended', $3, 'CA' || n, now() from generate_series($4::bigint, $5) n`,
		endpoint, stream(), h.system, first, last)
}

// finish ends a delivery in a state, after one attempt.
func (h *harness) finish(id int64, state string) {
	h.Helper()
	attempt := `{"status": 200, "ms": 7}`
	if state != "delivered" {
		attempt = `{"status": 500, "error": "status 500", "ms": 7}`
	}
	h.Exec(`update webhook.delivery
		set state = $2, finished_at = now(), tries = 1, attempts = attempts || (jsonb_build_object('at', now()) || $3::jsonb)
		where id = $1`, id, state, attempt)
}

func (h *harness) deliveries(q registry.Query) []registry.Delivery {
	h.Helper()
	q.Limit = max(q.Limit, 1)
	list, _, err := h.Deliveries(h.Context(), q)
	h.Must(err)
	return list
}

// notice records a notice that is fanned out.
func (h *harness) notice(system uuid.UUID, sequence int, kind webhook.Kind, at time.Time) {
	h.Helper()
	h.Exec(`insert into webhook.notice (stream, partition, sequence, ordinal, id, kind, system_id, call_sid, at)
		values ($1, 0, $2, 0, $3, $4, $5, 'CA1', $6)`, stream(), sequence, fmt.Sprintf("evt_%d", sequence), kind, system, at)
	h.Exec(`insert into webhook.fanout values ($1, 0, $2) on conflict (stream, partition) do update set sequence = excluded.sequence`,
		stream(), sequence)
}
