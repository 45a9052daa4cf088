package status_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events"
	"callboard/projector/projectortest"
	"callboard/projector/status"
	"callboard/schema"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.RunAndFindLeaks(m) }

// harness is a stream of four partitions and a projection whose rows the tests insert. No projector runs.
type harness struct {
	*projectortest.Harness
	operator *pgxpool.Pool
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	t.Parallel()
	h := &harness{Harness: projectortest.NewHarness(t)}
	h.operator = h.Database.RolePool(h, "callboard_operator")
	return h
}

// newHarnessWithEvents returns a stream of 9 messages, of which partition 0 has 1, 2, 3, 8 and 9. Its position is 8.
func newHarnessWithEvents(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t)
	h.publishVersions(0, 3)
	h.publishVersions(1, 4)
	h.publishVersions(0, 2)
	h.insertPosition(0, 8)
	return h
}

// publishVersions publishes versions of a new phone system of the partition.
func (h *harness) publishVersions(partition, versions int) {
	h.Helper()
	id := h.NewSystemIn(partition)
	for version := range versions {
		h.Publish(systemChanged(id, version+1))
	}
}

func systemChanged(id uuid.UUID, version int) events.Event {
	return events.Changed(&events.PhoneSystem{ID: id, Version: int64(version), Name: "A"})
}

func (h *harness) insertPosition(partition int, sequence int64) {
	h.Helper()
	h.Exec(`
		insert into projection.position (partition, stream, sequence, epoch, clock, watermark)
		values ($1, $2, $3, 1, now(), '2026-03-01T00:00:00Z')`, partition, h.StreamID(), sequence)
}

// insertMessageCount inserts the numbers read, applied, stale, ignored and dead of an entity.
func (h *harness) insertMessageCount(partition int, entity string, numbers [5]int64) {
	h.Helper()
	h.Exec(`
		insert into projection.message_count (partition, entity, read, applied, stale, ignored, dead)
		values ($1, $2, $3, $4, $5, $6, $7)`,
		partition, entity, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4])
}

func (h *harness) source() status.Source {
	return status.Source{JetStream: h.JetStream, Stream: events.StreamName, Pool: h.operator, Definition: schema.Definition()}
}

func (h *harness) read() status.Report {
	h.Helper()
	return h.readFrom(h.source())
}

func (h *harness) readFrom(source status.Source) status.Report {
	h.Helper()
	report, err := source.Read(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	return report
}

// requireNoConsumer fails the test if a consumer that counted messages is left.
func (h *harness) requireNoConsumer() {
	h.Helper()
	for name := range h.Stream.ConsumerNames(h.Context()).Name() {
		h.Errorf("consumer %s is left", name)
	}
}
