package audit_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	writer "callboard/projector/audit"
	"callboard/schema/schematest"
)

// Entries that are published while the database is unavailable are stored afterwards, and the outage is logged once.
func TestWriter_WithoutDatabase(t *testing.T) {
	h := newHarness(t)
	h.start()
	first := h.publishMany(1, h.noon)
	h.waitUntilStored()
	failures := h.log.Count("storing audit entries failed") // 0 unless a delivery was interrupted
	h.Exec("do $$ begin execute format('revoke connect on database %I from public', current_database()); end $$")
	h.Exec("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'callboard_projector' and datname = current_database()")
	second := h.publishMany(1, h.noon.AddDate(0, 0, 1))
	h.eventually("a failure in the log", func() bool { return h.log.Count("storing audit entries failed") > failures })
	h.requireIDs(first)
	resumed := h.log.Count("storing audit entries resumed")
	h.Exec("do $$ begin execute format('grant connect on database %I to public', current_database()); end $$")
	h.waitUntilStored()
	h.requireIDs(append(first, second...))
	h.eventually("the end of the outage in the log", func() bool { return h.log.Count("storing audit entries resumed") > resumed })
}

// A missing stream is logged once with the command that creates it, and is used once it exists.
func TestWriter_WithoutStream(t *testing.T) {
	h := newHarness(t)
	if err := h.JetStream.DeleteStream(t.Context(), events.AuditStream); err != nil {
		t.Fatal(err)
	}
	var js jetstream.JetStream
	h.start(func(c *writer.Config) { js = c.JetStream })
	h.eventually("the command in the log", func() bool { return h.log.Contains("callboard stream create") })
	sent := js.Conn().Stats().OutMsgs
	h.eventually("three more attempts", func() bool { return js.Conn().Stats().OutMsgs >= sent+3 })
	h.createStream()
	ids := h.publishMany(1, h.noon)
	h.waitUntilStored()
	h.requireIDs(ids)
	if got := h.log.Count(`run 'callboard stream create'","message":"storing audit entries failed"`); got != 1 {
		t.Errorf("failures with the command = %d, want 1:\n%s", got, h.log.String())
	}
}

// A writer goes on after its consumer was deleted, and after the server was started again.
func TestWriter_Interrupted(t *testing.T) {
	h := newHarness(t)
	h.start()
	ids := h.publishMany(1, h.noon)
	h.waitUntilStored()
	for name := range h.auditStream.ConsumerNames(t.Context()).Name() {
		// One that the writer has replaced meanwhile is gone.
		if err := h.auditStream.DeleteConsumer(t.Context(), name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			t.Fatal(err)
		}
	}
	ids = append(ids, h.publishMany(1, h.noon.Add(time.Minute))...)
	h.waitUntilStored()
	h.Server.Restart()
	h.awaitStream()
	ids = append(ids, h.publishMany(1, h.noon.Add(time.Hour))...)
	h.waitUntilStored()
	h.requireIDs(ids)
}

// A host can disappear without closing its connections. No statement waits for it until the operating system gives up.
func TestWriter_LimitsEveryStatement(t *testing.T) {
	h := newHarness(t)
	h.start(func(c *writer.Config) { c.Database = schematest.OpenLimitedPool(t, c.Database) })
	h.publish(newEntry(uuid.New(), h.noon.AddDate(0, 0, -200)))
	h.waitUntilStored()
	h.Exec("update control.audit_position set sequence = sequence + 1000")
	h.publish(newEntry(uuid.New(), h.noon))
	h.waitUntilStored()
}
