package audit_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	writer "callboard/projector/audit"
	"callboard/schema/schematest"
)

// Entries that are published while the database is unavailable are stored afterwards, and the outage is logged once.
func TestWriter_WithoutDatabase(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.start()
	first := newEntry(uuid.New(), h.noon)
	h.publish(first)
	h.waitUntilStored()
	failures := h.log.Count("storing audit entries failed") // 0 unless a delivery was interrupted
	h.Exec("do $$ begin execute format('revoke connect on database %I from public', current_database()); end $$")
	h.Exec("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'callboard_projector' and datname = current_database()")
	second := newEntry(uuid.New(), h.noon.AddDate(0, 0, 1))
	h.publish(second)
	h.eventually("a failure in the log", func() bool { return h.log.Count("storing audit entries failed") > failures })
	if got, want := h.storedIDs(), []uuid.UUID{first.ID}; !slices.Equal(got, want) {
		t.Errorf("stored during the outage = %v, want %v", got, want)
	}
	resumed := h.log.Count("storing audit entries resumed")
	h.Exec("do $$ begin execute format('grant connect on database %I to public', current_database()); end $$")
	h.waitUntilStored()
	if got, want := h.storedIDs(), []uuid.UUID{first.ID, second.ID}; !slices.Equal(got, want) {
		t.Errorf("stored = %v, want %v", got, want)
	}
	h.eventually("the end of the outage in the log", func() bool { return h.log.Count("storing audit entries resumed") > resumed })
}

// A missing stream is logged once with the command that creates it, and is used once it exists.
func TestWriter_WithoutStream(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	if err := h.JetStream.DeleteStream(t.Context(), events.AuditStream); err != nil {
		t.Fatal(err)
	}
	var js jetstream.JetStream
	h.start(func(c *writer.Config) { js = c.JetStream })
	h.eventually("the command in the log", func() bool { return h.log.Contains("callboard stream create") })
	sent := js.Conn().Stats().OutMsgs
	h.eventually("three more attempts", func() bool { return js.Conn().Stats().OutMsgs >= sent+3 })
	e := newEntry(uuid.New(), h.noon)
	h.createStream()
	h.publish(e)
	h.waitUntilStored()
	if got, want := h.storedIDs(), []uuid.UUID{e.ID}; !slices.Equal(got, want) {
		t.Errorf("stored = %v, want %v", got, want)
	}
	if got := h.log.Count(`run 'callboard stream create'","message":"storing audit entries failed"`); got != 1 {
		t.Errorf("failures with the command = %d, want 1:\n%s", got, h.log.String())
	}
}

// A writer whose consumer is deleted creates another one.
func TestWriter_ConsumerIsDeleted(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.start()
	h.publish(newEntry(uuid.New(), h.noon))
	h.waitUntilStored()
	for name := range h.auditStream.ConsumerNames(t.Context()).Name() {
		// One that the writer has replaced meanwhile is gone.
		if err := h.auditStream.DeleteConsumer(t.Context(), name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			t.Fatal(err)
		}
	}
	h.publish(newEntry(uuid.New(), h.noon))
	h.waitUntilStored()
	if got := h.storedCount(); got != 2 {
		t.Errorf("stored = %d, want 2", got)
	}
}

func TestWriter_ServerRestarts(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.start()
	first := newEntry(uuid.New(), h.noon)
	h.publish(first)
	h.waitUntilStored()
	h.Server.Restart()
	second := newEntry(uuid.New(), h.noon.AddDate(0, 0, 1))
	h.awaitStream()
	h.publish(second)
	h.waitUntilStored()
	if got, want := h.storedIDs(), []uuid.UUID{first.ID, second.ID}; !slices.Equal(got, want) {
		t.Errorf("stored = %v, want %v", got, want)
	}
}

// A host can disappear without closing its connections. No statement waits for it until the operating system gives up.
func TestWriter_LimitsEveryStatement(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.start(func(c *writer.Config) { c.Database = schematest.OpenLimitedPool(t, c.Database) })
	h.publish(newEntry(uuid.New(), h.noon.AddDate(0, 0, -200)))
	h.waitUntilStored()
	h.Exec("update control.audit_position set sequence = sequence + 1000")
	h.publish(newEntry(uuid.New(), h.noon))
	h.waitUntilStored()
}
