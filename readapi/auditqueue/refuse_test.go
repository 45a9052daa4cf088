package auditqueue_test

import (
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
)

func refusedEntry(key uuid.UUID, i int) events.AuditEntry {
	return events.AuditEntry{
		At: time.Now(), KeyID: key, Operation: "listCallLogs", Status: 401, Code: "UNAUTHENTICATED", Address: netip.MustParseAddr("192.0.2.7"),
		RequestID: strconv.Itoa(i),
	}
}

// Refused requests of concurrent clients, before, during and after an outage, add up to the counts of a few
// entries. Granted ones have an entry each.
func TestQueue_Refuse(t *testing.T) {
	t.Parallel()
	h := newHarness(t, 0)
	h.createStream()
	stop := h.start()
	const clients, perClient = 8, 3000
	key := uuid.New()
	var sending sync.WaitGroup
	down := make(chan struct{})
	for range clients {
		sending.Go(func() {
			for i := range perClient {
				if i == perClient/2 {
					<-down
				}
				h.queue.RecordRefused(key, refusedEntry(key, i))
				if i%100 == 0 {
					h.record(newEntry())
				}
			}
		})
	}
	eventstest.Eventually(t, "an acknowledged entry", func() bool { return h.metric("acknowledged_total") > 0 })
	h.server.Stop()
	close(down)
	sending.Wait()
	before := h.metric("acknowledged_total")
	h.server.Start()
	eventstest.Eventually(t, "an entry that is acknowledged after the outage", func() bool { return h.metric("acknowledged_total") > before })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	var sum int64
	refused, granted := 0, 0
	for _, e := range h.entries() {
		if e.Status == 200 {
			granted++
			continue
		}
		refused++
		sum += e.Requests()
	}
	if sum != clients*perClient || refused > 100 || granted != clients*perClient/100 {
		t.Errorf("refused requests = %d in %d entries, granted = %d, want %d in a few, and %d", sum, refused, granted, clients*perClient, clients*perClient/100)
	}
	if got := h.metric("counted_total"); got != clients*perClient {
		t.Errorf("counted_total = %v, want %d", got, clients*perClient)
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
	stream, err := h.js.CreateStream(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	stop := h.start()
	ids := make(map[uuid.UUID]bool)
	for range 12 {
		e := newEntry()
		e.ID = uuid.New()
		ids[e.ID] = true
		h.record(e)
		if len(ids) <= 2 {
			eventstest.Eventually(t, "an acknowledged entry", func() bool { return h.metric("acknowledged_total") == float64(len(ids)) })
		}
	}
	eventstest.Eventually(t, "the full stream in the log", func() bool { return h.log.Count("maximum bytes exceeded") > 0 })
	consumer, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	raised := config
	raised.MaxBytes = 1 << 20
	if _, err := h.js.UpdateStream(t.Context(), raised); err != nil {
		t.Fatal(err)
	}
	for len(ids) > 0 {
		m, err := consumer.Next(jetstream.FetchMaxWait(time.Minute))
		if err != nil {
			t.Fatalf("entries that were not stored = %d: %v", len(ids), err)
		}
		entries, err := events.DecodeAudit(m.Data())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			delete(ids, e.ID)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
