package auditqueue_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/readapi/auditqueue"
)

// A place is free again once its entry is acknowledged, and not before.
func TestQueue_Reserve(t *testing.T) {
	t.Parallel()
	h := newHarness(t, 2)
	lineages := []uuid.UUID{uuid.New(), uuid.New()}
	refused := func() bool { return errors.Is(h.queue.Reserve(uuid.New()), auditqueue.ErrFull) }
	fill := func() {
		t.Helper()
		for _, lineage := range lineages {
			if err := h.queue.Reserve(lineage); err != nil {
				t.Fatal(err)
			}
			h.queue.Record(lineage, newEntry())
		}
	}
	fill()
	h.start()
	eventstest.Eventually(t, "an attempt to publish", func() bool { return h.log.Count("publishing audit entries failed") > 0 })
	if !h.queue.Full() || !refused() {
		t.Error("a third place of two is free before an entry is acknowledged")
	}
	if recorded, waiting := h.metric("recorded_total"), h.metric("waiting"); recorded != 2 || waiting != 2 {
		t.Errorf("recorded = %v, waiting = %v, want 2 and 2", recorded, waiting)
	}
	h.createStream()
	eventstest.Eventually(t, "two acknowledged entries", func() bool { return h.metric("acknowledged_total") == 2 })
	fill()
	if refused := h.metric("refused_total"); refused != 1 {
		t.Errorf("refused = %v, want 1", refused)
	}
}

// A lineage has an eighth of the places. While its share is full, others have room.
func TestQueue_Shares(t *testing.T) {
	t.Parallel()
	h := newHarness(t, 80)
	one, other := uuid.New(), uuid.New()
	for i := range 11 {
		if err := h.queue.Reserve(one); errors.Is(err, auditqueue.ErrFull) != (i == 10) {
			t.Errorf("place %d of a lineage: error = %v, want 10 places", i, err)
		}
	}
	if err := h.queue.Reserve(other); err != nil || h.queue.Full() {
		t.Errorf("another lineage: error = %v, full = %v, want a place", err, h.queue.Full())
	}
	h.queue.Release(one)
	if err := h.queue.Reserve(one); err != nil {
		t.Errorf("after a release: error = %v, want a place", err)
	}
}

// Record sets the ID, and the time as PostgreSQL stores it.
func TestQueue_RecordIdentifiesEntries(t *testing.T) {
	t.Parallel()
	h := newHarness(t, 0)
	h.createStream()
	recorded := newEntry()
	recorded.At = time.Date(2026, 3, 2, 10, 30, 0, 123456789, time.FixedZone("", 3600))
	h.record(recorded)
	if err := h.start()(); err != nil {
		t.Fatal(err)
	}
	got, want := h.entries()[0], recorded
	want.ID, want.At = got.ID, time.Date(2026, 3, 2, 9, 30, 0, 123456000, time.UTC)
	if got != want || got.ID.Version() != 7 {
		t.Errorf("entry = %+v, want %+v with an ID of version 7", got, want)
	}
}
