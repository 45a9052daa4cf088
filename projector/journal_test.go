package projector_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/projectortest"
)

// insertKey inserts a key without an end.
func (h *harness) insertKey() uuid.UUID {
	h.Helper()
	id := uuid.New()
	h.Exec(`
		insert into access.key (id, lineage, name, short, hash, pepper_id, grant_kind, grant_id, scopes)
		values ($1, $1, 'k', $2, 'h', 'p', 'system', $1, '{}')`, id, id.String())
	return id
}

func (h *harness) revokedAt(key uuid.UUID) *time.Time {
	h.Helper()
	return projectortest.QueryOne[*time.Time](h.Harness, "select revoked_at from access.key where id = $1", key)
}

// A projector ends the keys of the journal when it starts, and logs their ids. A key whose end the database has
// stays as it is.
func TestProjector_EndsKeysOfTheJournal(t *testing.T) {
	h := newHarness(t)
	lost, known, live := h.insertKey(), h.insertKey(), h.insertKey()
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	h.Exec("update access.key set revoked_at = $2 where id = $1", known, at)
	for _, id := range []uuid.UUID{lost, known} {
		if err := events.PublishKeyEnd(t.Context(), h.JetStream, events.KeyEnd{ID: id, RevokedAt: &at}); err != nil {
			t.Fatal(err)
		}
	}
	var log eventstest.LogBuffer
	h.StartProjector(projectortest.LogTo(&log))
	eventstest.Eventually(t, "the key is revoked", func() bool {
		revoked := h.revokedAt(lost)
		return revoked != nil && revoked.Equal(at)
	})
	if revoked := h.revokedAt(live); revoked != nil {
		t.Errorf("key that is not in the journal: revoked at %v, want never", revoked)
	}
	eventstest.Eventually(t, "the projector logs the key", func() bool { return log.Count(lost.String()) == 1 })
	if n := log.Count(known.String()); n != 0 {
		t.Errorf("log lines about the key that had ended = %d, want 0", n)
	}
}

// Without a journal, a projector says so and applies events. It reads the journal once that is there.
func TestProjector_WithoutAJournal(t *testing.T) {
	h := newHarness(t)
	if err := h.JetStream.DeleteStream(t.Context(), events.KeyStream); err != nil {
		t.Fatal(err)
	}
	var log eventstest.LogBuffer
	registry := prometheus.NewRegistry()
	h.StartProjector(projectortest.LogTo(&log), exportTo(registry))
	h.publishCall(h.NewSystemIn(0))
	h.checkCalls(1)
	eventstest.Eventually(t, "the projector logs that there is no journal", func() bool { return log.Count("callboard stream create") == 1 })
	const readable = "callboard_projector_keys_journal_readable"
	if got := eventstest.Metric(t, registry, readable); got != 0 {
		t.Errorf("%s without a journal = %v, want 0", readable, got)
	}
	if _, err := h.JetStream.CreateStream(t.Context(), events.KeyStreamConfig(1)); err != nil {
		t.Fatal(err)
	}
	waitForSum(t, registry, readable, 1)
}

// What a projector decides is on the disk when it is committed, whatever the default of the database is. What
// follows from the stream keeps that default.
func TestProjector_CommitsDecisionsDurably(t *testing.T) {
	t.Parallel()
	for table, want := range map[string]string{"control.dead_letter": "on", "projection.phone_system": "off"} {
		t.Run(table, func(t *testing.T) {
			h := newHarness(t)
			levels := h.Database.CommitLevels(t, table)
			h.StartProjector()
			system := h.NewSystemIn(0)
			h.Apply(projectortest.PhoneSystem(system))
			h.PublishRaw(events.Subject(system, events.EntityCall), nil, "{}")
			h.WaitUntilCaughtUp()
			if got := levels(); !slices.Equal(got, []string{want}) {
				t.Errorf("synchronous_commit = %v, want %s", got, want)
			}
		})
	}
}
