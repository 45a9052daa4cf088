package audit_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/events"
	writer "callboard/projector/audit"
	"callboard/schema/schematest"
)

// publishMany publishes messages of one entry each, a second apart, and returns the ids.
func (h *harness) publishMany(count int, from time.Time) (ids []uuid.UUID) {
	h.Helper()
	for i := range count {
		e := newEntry(uuid.New(), from.Add(time.Duration(i)*time.Second))
		h.publish(e)
		ids = append(ids, e.ID)
	}
	return ids
}

func (h *harness) requireIDs(want []uuid.UUID) {
	h.Helper()
	if got := h.storedIDs(); !slices.Equal(got, want) {
		h.Errorf("stored = %v, want %v", got, want)
	}
}

// requireNoOtherLines fails the test if a line of the log contains none of the texts. A delivery that arrives a
// second late is requested again, and may be logged.
func (h *harness) requireNoOtherLines(expected ...string) {
	h.Helper()
	expected = append(expected, "was interrupted", "storing audit entries resumed")
	for line := range strings.Lines(h.log.String()) {
		if !slices.ContainsFunc(expected, func(text string) bool { return strings.Contains(line, text) }) {
			h.Errorf("log: %swant no such line", line)
		}
	}
}

// requireOtherStreamLogged requires one line of the log, which is written after the position: another writer can go on
// from that before.
func (h *harness) requireOtherStreamLogged() {
	h.Helper()
	const line = "audit stream lacks the last stored message"
	h.eventually("a log line about the stream", func() bool { return h.log.Contains(line) })
	if got := h.log.Count(line); got != 1 {
		h.Errorf("log lines about the stream = %d, want 1:\n%s", got, h.log.String())
	}
}

// setBack loses the last commits: the entries of the messages after a sequence, and the position.
func (h *harness) setBack(sequence int, ids []uuid.UUID) {
	h.Helper()
	last, err := h.auditStream.GetMsg(h.Context(), uint64(sequence))
	if err != nil {
		h.Fatal(err)
	}
	h.Exec(`
		with lost as (delete from access.audit where id = any ($1))
		update control.audit_position set sequence = $2, stored_at = $3`, ids[sequence:], sequence, last.Time)
}

// Entries that the database loses with its last commits are read again: by the next writer, by one that goes on
// with new messages, and by one that is idle.
func TestWriter_DatabaseIsSetBack(t *testing.T) {
	h := newHarness(t)
	ids := h.publishMany(20, h.noon)
	stop := h.start()
	h.waitUntilStored()
	stop()
	h.setBack(5, ids)
	stop = h.start()
	h.waitUntilStored()
	h.requireIDs(ids)

	h.setBack(7, ids)
	ids = append(ids, h.publishMany(3, h.noon.Add(time.Minute))...)
	h.waitUntilStored()
	h.requireIDs(ids)

	h.setBack(9, ids)
	h.waitUntilStored()
	h.requireIDs(ids)
	stop()
	h.requireNoOtherLines()
}

// Of a stream that was created again, all messages are stored. The log says so once.
func TestWriter_StreamIsCreatedAgain(t *testing.T) {
	h := newHarness(t)
	h.start()
	h.start()
	ids := h.publishMany(3, h.noon)
	h.waitUntilStored()
	if err := h.JetStream.DeleteStream(t.Context(), events.AuditStream); err != nil {
		t.Fatal(err)
	}
	h.createStream()
	ids = append(ids, h.publishMany(2, h.noon.Add(time.Minute))...)
	h.waitUntilStored()
	h.requireIDs(ids)
	h.requireOtherStreamLogged()
}

// lateJetStream does something after the first look at a stream, before the caller gets the answer.
type lateJetStream struct {
	jetstream.JetStream
	meanwhile func()
}

// Stream implements [jetstream.JetStream].
func (l lateJetStream) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	stream, err := l.JetStream.Stream(ctx, name)
	l.meanwhile()
	return stream, err
}

// A writer that has looked at the stream just before it is created again does not set the position back that
// another writer has moved.
func TestWriter_StreamIsCreatedAgainMeanwhile(t *testing.T) {
	h := newHarness(t)
	h.start()
	ids := h.publishMany(3, h.noon)
	h.waitUntilStored()
	created := make(chan struct{})
	h.start(func(c *writer.Config) {
		c.JetStream = lateJetStream{c.JetStream, sync.OnceFunc(func() {
			if err := h.JetStream.DeleteStream(t.Context(), events.AuditStream); err != nil {
				t.Error(err)
			}
			h.createStream()
			ids = append(ids, h.publishMany(2, h.noon.Add(time.Minute))...)
			h.waitUntilStored()
			close(created)
		})}
	})
	<-created
	ids = append(ids, h.publishMany(2, h.noon.Add(time.Hour))...)
	h.waitUntilStored()
	h.requireIDs(ids)
	h.requireOtherStreamLogged()
}

// A stream that has lost its end gives other messages the sequences of stored ones. They are stored, however many
// there are when a writer looks.
func TestWriter_StreamLosesItsEnd(t *testing.T) {
	t.Parallel()
	for name, published := range map[string]int{"shorter": 2, "longer": 5} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			stop := h.start()
			ids := h.publishMany(2, h.noon)
			h.waitUntilStored()
			restore := h.Server.Backup()
			h.awaitStream()
			ids = append(ids, h.publishMany(3, h.noon.Add(time.Minute))...)
			h.waitUntilStored()
			stop()
			restore()
			h.awaitStream()
			ids = append(ids, h.publishMany(published, h.noon.Add(time.Hour))...)
			h.start()
			h.eventually("every entry stored", func() bool { return h.storedCount() == int64(len(ids)) })
			h.requireIDs(ids)
			h.requireOtherStreamLogged()
		})
	}
}

// Messages that the stream has dropped before they were stored are counted and named.
func TestWriter_StreamDropsMessages(t *testing.T) {
	h := newHarness(t)
	stop := h.start()
	ids := h.publishMany(1, h.noon)
	h.waitUntilStored()
	stop()
	h.publishMany(2, h.noon.Add(time.Minute))
	if err := h.auditStream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	ids = append(ids, h.publishMany(1, h.noon.Add(time.Hour))...)
	metrics := prometheus.NewRegistry()
	h.start(func(c *writer.Config) { c.Metrics = metrics })
	h.waitUntilStored()
	h.requireIDs(ids)
	h.eventually("the loss in the log", func() bool { return h.log.Contains("audit entries are lost") })
	if got := h.metric(metrics, "lost_messages_total"); got != 2 || !strings.Contains(h.log.String(), `"first_sequence":2,"last_sequence":3`) {
		t.Errorf("lost_messages_total = %v, log:\n%s\nwant messages 2 and 3", got, h.log.String())
	}
}

// A writer that finds a stream for the first time begins with its first message, and does not call earlier ones lost.
func TestWriter_FirstPosition(t *testing.T) {
	h := newHarness(t)
	h.publishMany(2, h.noon)
	if err := h.auditStream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	ids := h.publishMany(1, h.noon)
	h.start()
	h.waitUntilStored()
	h.requireIDs(ids)
	h.requireNoOtherLines()
}

// Two writers at a time store each entry once, and no statement of theirs fails.
func TestWriter_TwoAtOnce(t *testing.T) {
	h := newHarness(t)
	var metrics []*prometheus.Registry
	for range 2 {
		registry := prometheus.NewRegistry()
		metrics = append(metrics, registry)
		h.start(func(c *writer.Config) { c.Metrics = registry })
	}

	const messages, each = 100, 20
	for range messages {
		message := make([]events.AuditEntry, each)
		for i := range message {
			message[i] = newEntry(uuid.New(), time.Now())
		}
		h.publish(message...)
	}
	h.waitUntilStored()
	if got := h.storedCount(); got != messages*each {
		t.Errorf("stored = %d, want %d", got, messages*each)
	}
	sum := func(name string) float64 { return h.metric(metrics[0], name) + h.metric(metrics[1], name) }
	h.eventually("all entries counted", func() bool { return sum("stored_total") == messages*each })
	if h.log.Contains("SQLSTATE") {
		t.Errorf("log = %s, want no failed statement", h.log.String())
	}
}

// limitBytes gives the stream another limit of its size.
func (h *harness) limitBytes(limit int64) {
	h.Helper()
	config := h.auditStream.CachedInfo().Config
	config.MaxBytes = limit
	if _, err := h.JetStream.UpdateStream(h.Context(), config); err != nil {
		h.Fatal(err)
	}
}

// Stored messages make room before the stream is full, so that it never refuses entries because of them.
func TestWriter_PurgesStored(t *testing.T) {
	h := newHarness(t)
	const limit = 64 << 10
	h.limitBytes(limit)
	var ids []uuid.UUID
	for ids = h.publishMany(1, h.noon); h.state().Bytes < limit/8*7; {
		ids = append(ids, h.publishMany(1, h.noon.Add(time.Duration(len(ids))*time.Second))...)
	}
	h.start()
	h.waitUntilStored()
	h.eventually("room in the stream", func() bool { return h.state().Bytes < limit/4*3 })
	if got, want := h.state().Msgs, uint64(len(ids)-len(ids)/4); got != want {
		t.Errorf("messages left = %d of %d, want %d: all but the oldest quarter", got, len(ids), want)
	}
	h.requireIDs(ids)
}

// What is not stored is never removed: a full stream refuses more.
func TestWriter_KeepsWhatIsNotStored(t *testing.T) {
	h := newHarness(t)
	const limit = 64 << 10
	h.limitBytes(limit)
	metrics := prometheus.NewRegistry()
	h.start(func(c *writer.Config) { c.Metrics = metrics })
	ids := h.publishMany(1, h.noon)
	h.waitUntilStored()
	locked, err := h.Database.Pool(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	schematest.Exec(t, locked, "lock table access.audit in access exclusive mode")
	for h.state().Bytes < limit/8*7 {
		ids = append(ids, h.publishMany(1, h.noon.Add(time.Duration(len(ids))*time.Second))...)
	}
	h.eventually("pending messages", func() bool { return h.metric(metrics, "pending") == float64(len(ids)-1) })
	if got := h.state().Msgs; got != uint64(len(ids)) {
		t.Errorf("messages in the stream = %d, want %d", got, len(ids))
	}
	if err := locked.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.waitUntilStored()
	h.requireIDs(ids)
	h.eventually("room in the stream", func() bool { return h.state().Bytes < limit/4*3 })
}

func (h *harness) state() jetstream.StreamState {
	h.Helper()
	info, err := h.auditStream.Info(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	return info.State
}
