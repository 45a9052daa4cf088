package audit_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/events/eventstest"
	writer "callboard/projector/audit"
	"callboard/projector/projectortest"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	eventstest.RunAtOnce(6)
	schematest.RunAndFindLeaks(m)
}

// harness adds the stream of audit entries to [projectortest.Harness].
type harness struct {
	*projectortest.Harness
	auditStream jetstream.Stream
	noon        time.Time // of yesterday, in UTC
	log         eventstest.LogBuffer
}

// newHarness returns the harness of a test that runs beside others.
func newHarness(t *testing.T) *harness {
	t.Helper()
	t.Parallel()
	h := &harness{Harness: projectortest.NewHarness(t), noon: midnight().Add(-12 * time.Hour)}
	h.createStream()
	return h
}

func (h *harness) createStream() {
	h.Helper()
	var err error
	if h.auditStream, err = h.JetStream.CreateStream(h.Context(), events.AuditStreamConfig(1)); err != nil {
		h.Fatal(err)
	}
}

// awaitStream waits until a server that was started again answers about the stream. What is published before can be
// lost with the connection.
func (h *harness) awaitStream() {
	h.Helper()
	h.eventually("the stream", func() bool {
		ctx, cancel := context.WithTimeout(h.Context(), time.Second) // a request can be lost with the connection, too
		defer cancel()
		_, err := h.auditStream.Info(ctx)
		return err == nil
	})
}

// start runs a writer until the test ends or stop is called; stop returns once the writer has ended.
func (h *harness) start(change ...func(*writer.Config)) (stop func()) {
	h.Helper()
	connections, _ := projectortest.Connect(h, h.Server.URL(), h.Database.RoleURL("callboard_projector"))
	config := writer.Config{
		JetStream: connections.JetStream, Database: connections.Database, Log: zerolog.New(&h.log), Metrics: prometheus.NewRegistry(),
	}
	for _, apply := range change {
		apply(&config)
	}
	w := writer.New(config)
	w.Hasten()
	return h.Run(w.Run)
}

// publish publishes entries as one message.
func (h *harness) publish(entries ...events.AuditEntry) {
	h.Helper()
	message, err := events.EncodeAudit(entries)
	if err != nil {
		h.Fatal(err)
	}
	h.PublishRaw(events.AuditSubject, nil, string(message))
}

// store publishes entries as one message and waits until they are stored. A writer must run.
func (h *harness) store(entries ...events.AuditEntry) {
	h.Helper()
	h.publish(entries...)
	h.waitUntilStored()
}

// waitUntilStored waits until the position is at the stream's last message.
func (h *harness) waitUntilStored() {
	h.Helper()
	h.eventually("every message stored", func() bool {
		info, err := h.auditStream.Info(h.Context())
		position := h.QueryInt("select coalesce(max(sequence), 0) from control.audit_position")
		return err == nil && position == int64(info.State.LastSeq)
	})
}

// eventually shows the log if the condition does not become true.
func (h *harness) eventually(what string, condition func() bool) {
	h.Helper()
	defer func() {
		if h.Failed() {
			h.Log(h.log.String())
		}
	}()
	eventstest.Eventually(h.TB, what, condition)
}

// storedIDs returns the ids of the stored entries by time.
func (h *harness) storedIDs() []uuid.UUID {
	h.Helper()
	return projectortest.Query[uuid.UUID](h.Harness, "select id from access.audit order by at, id")
}

func (h *harness) storedCount() int64 {
	h.Helper()
	return h.QueryInt("select count(*) from access.audit")
}

func (h *harness) requireNoDeadLetters() {
	h.Helper()
	if got := h.QueryInt("select count(*) from control.dead_letter"); got != 0 {
		h.Errorf("dead letters = %d, want 0", got)
	}
}

// partitions returns the names of the audit's partitions in order.
func (h *harness) partitions() []string {
	h.Helper()
	return projectortest.Query[string](h.Harness,
		"select inhrelid::regclass::text from pg_inherits where inhparent = 'access.audit'::regclass order by 1")
}

// openDay creates a day's partition.
func (h *harness) openDay(day time.Time) {
	h.Helper()
	if !projectortest.QueryOne[bool](h.Harness, "select access.open_audit_day($1)", day) {
		h.Fatalf("open_audit_day(%s) = false", day)
	}
}

// metric returns the value of one of a writer's metrics.
func (h *harness) metric(registry *prometheus.Registry, name string) float64 {
	h.Helper()
	return eventstest.Metric(h, registry, "callboard_projector_audit_"+name)
}

func newEntry(key uuid.UUID, at time.Time) events.AuditEntry {
	return events.AuditEntry{
		ID: uuid.New(), At: at.UTC().Truncate(time.Microsecond), KeyID: key, Operation: "listCallLogs", Status: 200, RequestID: "r",
	}
}

// line returns an entry as a message of one line.
func (h *harness) line(e events.AuditEntry) string {
	h.Helper()
	message, err := events.EncodeAudit([]events.AuditEntry{e})
	if err != nil {
		h.Fatal(err)
	}
	return string(message)
}

// midnight returns the beginning of today in UTC.
func midnight() time.Time { return time.Now().UTC().Truncate(24 * time.Hour) }

// partition returns the name of a day's partition.
func partition(day time.Time) string { return "access.audit_" + day.Format("20060102") }
