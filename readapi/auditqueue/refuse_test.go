package auditqueue_test

import (
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
)

func refusedEntry(key uuid.UUID, i int) events.AuditEntry {
	return events.AuditEntry{
		At: time.Now(), KeyID: key, Operation: "listCallLogs", Status: 401, Code: "UNAUTHENTICATED", Address: netip.MustParseAddr("192.0.2.7"),
		RequestID: strconv.Itoa(i),
	}
}

// Refused requests are counted while the queue is full, and the count is published at the end.
func TestQueue_RefuseWhileFull(t *testing.T) {
	t.Parallel()
	h := newHarness(t, 1)
	h.createStream()
	h.record(newEntry())
	key := uuid.New()
	for i := range 500 {
		h.queue.RecordRefused(key, refusedEntry(key, i))
	}
	if err := h.start()(); err != nil {
		t.Fatal(err)
	}
	entries := h.entries()
	if len(entries) != 2 || entries[1].Count != 500 || entries[1].RequestID != "0" || entries[1].LastRequestID != "499" ||
		entries[1].LastAt.Before(entries[1].At) {
		t.Errorf("entries = %+v, want one of 500 requests after the first", entries)
	}
}

// A full stream refuses entries instead of dropping old ones. They wait in the reader, and are stored when there is
// room.
func TestRun_FullStream(t *testing.T) {
	t.Parallel()
	h := newHarness(t, 0)
	config := events.AuditStreamConfig(1)
	config.MaxBytes = 1000
	if _, err := h.js.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	stop := h.start()
	h.record(newEntry())
	eventstest.Eventually(t, "an acknowledged entry", func() bool { return h.metric("acknowledged_total") == 1 })
	for range 11 {
		h.record(newEntry())
	}
	eventstest.Eventually(t, "the full stream in the log", func() bool { return h.log.Count("maximum bytes exceeded") > 0 })
	config.MaxBytes = 1 << 20
	if _, err := h.js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	eventstest.Eventually(t, "all entries acknowledged", func() bool { return h.metric("acknowledged_total") == 12 })
	if err := stop(); err != nil {
		t.Error(err)
	}
	if stored := len(h.entries()); stored != 12 {
		t.Errorf("stored = %d, want 12", stored)
	}
}
