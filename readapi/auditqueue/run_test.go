package auditqueue_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
)

// Entries that are recorded concurrently during restarts of the server are stored once each, those of one key in
// their order. Refused requests add up to the counts of a few entries.
func TestRun_LosesNothingOverRestarts(t *testing.T) {
	t.Parallel()
	h := newHarness(t, 0)
	h.createStream()
	stop := h.start()
	const keys, perKey, restarts = 8, 300, 2
	var recording sync.WaitGroup
	restarting := make([]chan struct{}, restarts) // closed during each restart, so that entries are recorded before, during and after it
	for i := range restarting {
		restarting[i] = make(chan struct{})
	}
	for range keys {
		key := uuid.New()
		recording.Go(func() {
			for i := range perKey {
				if part := perKey / restarts; i%part == part/2 {
					<-restarting[i/part]
				}
				if err := h.queue.Reserve(key); err != nil {
					t.Error(err)
					return
				}
				h.queue.Record(key, events.AuditEntry{At: time.Now(), KeyID: key, Operation: "listCallLogs", Status: 200, RequestID: strconv.Itoa(i)})
				h.queue.RecordRefused(key, refusedEntry(key, i))
			}
		})
	}
	for i := range restarting {
		eventstest.Eventually(t, "an acknowledged entry", func() bool {
			return h.metric("acknowledged_total") > float64(i*keys*perKey/restarts)
		})
		h.server.Stop()
		close(restarting[i])
		h.server.Start()
	}
	recording.Wait()
	if err := stop(); err != nil {
		t.Error(err)
	}

	next, stored := make(map[uuid.UUID]int), make(map[uuid.UUID]bool)
	granted, refused, sum := 0, 0, int64(0)
	for _, e := range h.entries() {
		if stored[e.ID] {
			t.Fatalf("entry %s is stored twice", e.ID)
		}
		stored[e.ID] = true
		if e.Status != 200 {
			refused++
			sum += e.Requests()
			continue
		}
		granted++
		if e.RequestID != strconv.Itoa(next[e.KeyID]) {
			t.Fatalf("key %s: request = %s, want %d", e.KeyID, e.RequestID, next[e.KeyID])
		}
		next[e.KeyID]++
	}
	if granted != keys*perKey || sum != keys*perKey || refused > 100 {
		t.Errorf("stored = %d, refused requests = %d in %d entries, want %d of both, in a few entries", granted, sum, refused, keys*perKey)
	}
	if got := h.metric("counted_total"); got != keys*perKey {
		t.Errorf("counted_total = %v, want %d", got, keys*perKey)
	}
}

// A message whose acknowledgement was lost is published again under its ID, and the duplicate counts as acknowledged.
func TestRun_RetryIsStoredOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t, 0)
	h.createStream()
	sent := newEntry()
	sent.ID, sent.At = uuid.New(), time.Now()
	message, err := events.EncodeAudit([]events.AuditEntry{sent})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.js.Publish(t.Context(), events.AuditSubject, message, jetstream.WithMsgID(sent.ID.String())); err != nil {
		t.Fatal(err)
	}
	h.record(sent)
	if err := h.start()(); err != nil {
		t.Fatal(err)
	}
	if stored, acknowledged := len(h.entries()), h.metric("acknowledged_total"); stored != 1 || acknowledged != 1 {
		t.Errorf("stored = %d, acknowledged = %v, want 1 and 1", stored, acknowledged)
	}
}

// A stopped queue accepts no new requests, waits for the reserved places, and publishes everything.
func TestRun_FlushesAtEnd(t *testing.T) {
	t.Parallel()
	h := newHarness(t, 0)
	h.createStream()
	const queued = 3*events.MaxAuditEntries + 1
	for range queued {
		h.record(newEntry())
	}
	h.reserve()
	stop := h.start()
	ended := make(chan error)
	go func() { ended <- stop() }()
	eventstest.Eventually(t, "a queue that reserves no more places", h.queue.Full)
	h.queue.Record(uuid.Nil, newEntry())
	if err := <-ended; err != nil {
		t.Error(err)
	}
	messages := h.messages()
	if got := len(h.entries()); got != queued+1 || len(messages[0]) != events.MaxAuditEntries {
		t.Errorf("stored = %d, first message = %d entries, want %d and %d", got, len(messages[0]), queued+1, events.MaxAuditEntries)
	}
}

// Without a server, Run's error has the number of lost entries, including those of reserved places, and the reason.
func TestRun_ReportsLostEntries(t *testing.T) {
	t.Parallel()
	h := newHarnessFlushing(t, time.Second, 0)
	h.createStream()
	h.server.Stop()
	for range 3 {
		h.record(newEntry())
	}
	h.reserve()
	const want = "4 audit entries lost: NATS: RECONNECTING"
	stop := h.start()
	eventstest.Eventually(t, "a failed attempt", func() bool { return h.log.Contains("NATS: RECONNECTING") })
	if err := stop(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q", err, want)
	}
	if !h.queue.Full() {
		t.Error("full = false after the end")
	}
}

func TestRun_ReportsPlacesThatAreNeverFilled(t *testing.T) {
	t.Parallel()
	h := newHarnessFlushing(t, time.Second, 0)
	h.reserve()
	const want = "1 audit entries lost: not recorded in time"
	if err := h.start()(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q", err, want)
	}
}

// A missing stream is logged once with the command that creates it, and so is its return.
func TestRun_WithoutStream(t *testing.T) {
	t.Parallel()
	h := newHarness(t, 0)
	stop := h.start()
	h.record(newEntry())
	eventstest.Eventually(t, "the command in the log", func() bool { return h.log.Count("callboard stream create") > 0 })
	sent := h.js.Conn().Stats().OutMsgs
	eventstest.Eventually(t, "three more attempts", func() bool { return h.js.Conn().Stats().OutMsgs >= sent+3 })
	h.record(newEntry())
	h.createStream()
	eventstest.Eventually(t, "both entries acknowledged", func() bool { return h.metric("acknowledged_total") == 2 })
	if err := stop(); err != nil {
		t.Error(err)
	}
	commands, resumed := h.log.Count("callboard stream create"), h.log.Count("publishing audit entries resumed")
	most := 1 + h.log.Count(context.DeadlineExceeded.Error()) // an acknowledgement that comes late is another failure
	if commands < 1 || commands > most || resumed < 1 || resumed > most {
		t.Errorf("log lines: with the command = %d, resumed = %d, want 1 to %d of each:\n%s", commands, resumed, most, h.log.String())
	}
}

// If the server accepts only small messages, entries travel in smaller messages, also after an outage.
func TestRun_SplitsMessagesForMaxPayload(t *testing.T) {
	t.Parallel()
	h := newHarness(t, 0, eventstest.MaxPayload(4096))
	h.createStream()
	for range 200 {
		h.record(newEntry())
	}
	h.server.Stop()
	stop := h.start()
	eventstest.Eventually(t, "a failure", func() bool { return h.log.Contains("publishing audit entries failed") })
	h.server.Start()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got, messages := len(h.entries()), len(h.messages()); got != 200 || messages > 40 {
		t.Errorf("stored = %d in %d messages, want 200 in at most 40", got, messages)
	}
}
