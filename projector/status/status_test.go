package status_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/ingest"
	"callboard/projector/status"
	"callboard/projector/store"
	"callboard/schema"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m, func() error { return goleak.Find() }) }

const partitions = 4

// bench is a stream and a projection that nobody keeps.
type bench struct {
	js       jetstream.JetStream
	stream   jetstream.Stream
	admin    *pgxpool.Pool
	operator *pgxpool.Pool
}

func newBench(t *testing.T) *bench {
	t.Helper()
	database := schematest.New(t)
	b := &bench{js: eventstest.JetStream(t, eventstest.NewServer(t).URL()), admin: database.Pool(t)}
	b.stream = eventstest.CreateStream(t, b.js, partitions)
	var err error
	if b.operator, err = pgxpool.New(t.Context(), database.RoleURL("callboard_operator")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.operator.Close)
	return b
}

// publish publishes so many versions of a phone system in the partition.
func (b *bench) publish(t *testing.T, partition, versions int) {
	t.Helper()
	publisher, id := events.NewPublisher(b.js, "test"), systemIn(partition)
	for version := range versions {
		if err := publisher.Publish(t.Context(), systemChanged(id, version+1)); err != nil {
			t.Fatal(err)
		}
	}
}

// systemIn is a new phone system whose events are in the partition.
func systemIn(partition int) uuid.UUID {
	id := uuid.New()
	for events.Partition(id, partitions) != partition {
		id = uuid.New()
	}
	return id
}

func systemChanged(id uuid.UUID, version int) events.Event {
	return events.Changed(&events.PhoneSystem{ID: id, Version: int64(version), Name: "A"})
}

// position says how far a partition is in the tables.
func (b *bench) position(t *testing.T, partition int, sequence uint64, created time.Time) {
	t.Helper()
	_, err := b.admin.Exec(t.Context(), `
		insert into projection.position (partition, stream, stream_created, sequence, epoch, clock, watermark)
		values ($1, 'PHONES', $2, $3, 1, now(), '2026-03-01T00:00:00Z')`, partition, created, int64(sequence))
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) created() time.Time { return b.stream.CachedInfo().Created.Truncate(time.Microsecond) }

func (b *bench) read(t *testing.T) status.Report {
	t.Helper()
	report, err := b.source().Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func (b *bench) source() status.Source {
	return status.Source{JetStream: b.js, Stream: "PHONES", Pool: b.operator, Definition: schema.Definition()}
}

func TestRead(t *testing.T) {
	b := newBench(t)
	b.publish(t, 0, 3)               // sequences 1 to 3
	b.publish(t, 1, 4)               // 4 to 7
	b.publish(t, 0, 2)               // 8 and 9
	b.position(t, 0, 2, b.created()) // 3, 8 and 9 wait
	b.position(t, 1, 7, b.created()) // nothing waits
	b.position(t, 2, 9, b.created()) // empty, and at the stream's end
	report := b.read(t)              // 3: never seen
	want := []struct{ head, position, lag uint64 }{{9, 2, 3}, {7, 7, 0}, {0, 9, 0}, {0, 0, 0}}
	for i, p := range report.Partitions {
		if got := (struct{ head, position, lag uint64 }{p.Head, p.Position, p.LagEvents}); got != want[i] || p.Partition != i {
			t.Errorf("partition %d: %+v, want %+v", i, got, want[i])
		}
		if (p.LagSeconds > 0) != (p.LagEvents > 0) || p.Owner != nil || p.StopReason != "" || (p.Watermark == nil) != (i == 3) {
			t.Errorf("partition %d: %+v", i, p)
		}
	}
	if report.Lag() != 3 || report.Messages != 9 || report.DeadLetters != 0 || report.Generation == nil {
		t.Errorf("%+v", report)
	}
	b.leavesNoConsumer(t)
}

// leavesNoConsumer fails where what counted is still there.
func (b *bench) leavesNoConsumer(t *testing.T) {
	t.Helper()
	for name := range b.stream.ConsumerNames(t.Context()).Name() {
		t.Errorf("consumer %s is left", name)
	}
}

func TestRead_Unclaimed(t *testing.T) {
	b := newBench(t)
	b.publish(t, 2, 5)
	if p := b.read(t).Partitions[2]; p.LagEvents != 5 || p.Position != 0 || p.Head != 5 {
		t.Errorf("%+v", p)
	}
}

func TestRead_Owner(t *testing.T) {
	b := newBench(t)
	conn, err := b.admin.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	const lock = "set application_name = 'projector@here/7'; select pg_advisory_lock(%d, 3); select pg_advisory_lock(%d, 2); select pg_advisory_lock(3)"
	if _, err := conn.Exec(t.Context(), fmt.Sprintf(lock, store.PartitionLockClass, store.PartitionLockClass+1)); err != nil {
		t.Fatal(err)
	}
	for i, p := range b.read(t).Partitions {
		if owned := p.Owner != nil && *p.Owner == "projector@here/7"; owned != (i == 3) {
			t.Errorf("partition %d: %+v", i, p)
		}
	}
	if _, err := conn.Exec(context.WithoutCancel(t.Context()), "select pg_advisory_unlock_all()"); err != nil {
		t.Error(err)
	}
}

func TestRead_Faults(t *testing.T) {
	b := newBench(t)
	b.publish(t, 0, 1)
	b.position(t, 0, 1, b.created().Add(time.Second))
	b.position(t, 1, 8, b.created())
	b.position(t, 2, 1, b.created())
	if _, err := b.admin.Exec(t.Context(), "update projection.position set last_message = 1, last_message_at = now() - interval '1 day' where partition = 2"); err != nil {
		t.Fatal(err)
	}
	report := b.read(t)
	want := map[int]string{0: ingest.StreamIdentityChanged, 1: ingest.StreamRegressed, 2: ingest.StreamRegressed}
	for i, p := range report.Partitions {
		if p.StopReason != want[i] {
			t.Errorf("%+v, want %q", p, want[i])
		}
	}
	faults, err := b.source().StopReasons(t.Context())
	if err != nil || !maps.Equal(faults, want) {
		t.Errorf("%v, %v", faults, err)
	}
	if list := report.Problems(); len(list) != 3 || !strings.Contains(list[2], ": STREAM_REGRESSED: stream PHONES ") || !strings.HasSuffix(list[2], "restore the stream, or run 'callboard rebuild'") {
		t.Errorf("%q", list)
	}
}

// Projectors refuse a stream for which any replica may answer.
func TestRead_Direct(t *testing.T) {
	b := newBench(t)
	b.publish(t, 0, 1)
	b.position(t, 0, 1, b.created())
	config := b.stream.CachedInfo().Config
	config.AllowDirect = true
	if _, err := b.js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if list := b.read(t).Problems(); len(list) != 1 || !strings.Contains(list[0], ingest.StreamDirect+": stream PHONES has allow_direct on") {
		t.Errorf("%q", list)
	}
}

// Nor do they go on with one that has another number of partitions.
func TestRead_Repartitioned(t *testing.T) {
	b := newBench(t)
	b.publish(t, 0, 1)
	b.position(t, 0, 1, b.created())
	if _, err := b.admin.Exec(t.Context(), "insert into control.stream values ('PHONES', $1, $2)", b.created(), partitions-1); err != nil {
		t.Fatal(err)
	}
	if list := b.read(t).Problems(); len(list) != 1 || !strings.Contains(list[0], ingest.StreamRepartitioned+": stream PHONES has ") {
		t.Errorf("%q", list)
	}
}

func TestRead_NotMigrated(t *testing.T) {
	b := newBench(t)
	if _, err := b.admin.Exec(t.Context(), "update control.migration set version_id = version_id - 1"); err != nil {
		t.Fatal(err)
	}
	if list := b.read(t).Problems(); len(list) != 1 || !strings.Contains(list[0], ingest.MigrationMissing+": ") || !strings.Contains(list[0], "'callboard migrate'") {
		t.Errorf("%q", list)
	}
}

func TestRead_NoStream(t *testing.T) {
	b := newBench(t)
	source := b.source()
	source.Stream = "OTHER"
	if _, err := source.Read(t.Context()); err == nil {
		t.Error("no error")
	}
}
