package pace_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"callboard/cmd/pace"
	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/status"
	"callboard/projector/store"
	"callboard/schema"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m, func() error { return goleak.Find() }) }

// lane is a stream with one partition, and a projection that nobody keeps.
type lane struct {
	*testing.T
	stream jetstream.Stream
	pool   *pgxpool.Pool
	source status.Source
}

func newLane(t *testing.T) *lane {
	t.Helper()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	l := &lane{T: t, stream: eventstest.CreateStream(t, js, 1), pool: schematest.New(t).Pool(t)}
	l.source = status.Source{JetStream: js, Stream: events.StreamName, Pool: l.pool, Definition: schema.Definition()}
	system := events.Changed(&events.PhoneSystem{ID: uuid.New(), Version: 1, Name: "A"})
	if err := events.NewPublisher(js, "test").Publish(t.Context(), system); err != nil {
		t.Fatal(err)
	}
	l.stand(0, l.created())
	return l
}

func (l *lane) created() time.Time { return l.stream.CachedInfo().Created.Truncate(time.Microsecond) }

// stand says how far the partition is in the tables.
func (l *lane) stand(sequence int64, created time.Time) {
	l.Helper()
	_, err := l.pool.Exec(l.Context(), `
		insert into projection.position (partition, stream, stream_created, sequence, epoch, clock, watermark)
		values (0, 'PHONES', $1, $2, 1, now(), '2026-03-01T00:00:00Z')
		on conflict (partition) do update set stream_created = excluded.stream_created, sequence = excluded.sequence`, created, sequence)
	if err != nil {
		l.Fatal(err)
	}
}

// own has the partition as a projector has it, until the test ends.
func (l *lane) own() {
	l.Helper()
	conn, err := l.pool.Acquire(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	if _, err := conn.Exec(l.Context(), fmt.Sprintf("select pg_advisory_lock(%d, 0)", store.PartitionLockClass)); err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = conn.Hijack().Close(context.Background()) })
}

// pace is one that allows next to nothing, and what it tells.
func (l *lane) pace() (p *pace.Pace, told chan string) {
	told = make(chan string, 100)
	return &pace.Pace{Source: l.source, Limit: time.Millisecond, Tell: func(why string) { told <- why }}, told
}

// Work waits until the projection has caught up, and says why.
func TestPace_Wait(t *testing.T) {
	l := newLane(t)
	l.own()
	p, told := l.pace()
	ended := make(chan error, 1)
	go func() { ended <- p.Wait(t.Context()) }()
	if why := <-told; !strings.HasPrefix(why, "waiting for the live projection: partition 0 is ") {
		t.Errorf("it tells %q", why)
	}
	l.stand(1, l.created())
	if err := <-ended; err != nil {
		t.Error(err)
	}
	last := ""
	for len(told) > 0 {
		last = <-told
	}
	if last != "" {
		t.Errorf("in the end it tells %q", last)
	}
}

// What is late for ever, or for nobody, or is itself waited for, holds nothing back.
func TestPace_WaitsForNobody(t *testing.T) {
	for name, arrange := range map[string]func(*lane, *pace.Pace){
		"no projector has it": func(*lane, *pace.Pace) {},
		"it can't go on": func(l *lane, _ *pace.Pace) {
			l.own()
			l.stand(0, l.created().Add(time.Second))
		},
		"any lag is allowed": func(l *lane, p *pace.Pace) {
			l.own()
			p.Limit = 0
		},
		"a large lag is allowed": func(l *lane, p *pace.Pace) {
			l.own()
			p.Limit = time.Hour
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLane(t)
			p, told := l.pace()
			arrange(l, p)
			if err := p.Wait(t.Context()); err != nil || len(told) > 0 {
				t.Errorf("%v, %d waits", err, len(told))
			}
		})
	}
}

func TestPace_WaitEnds(t *testing.T) {
	l := newLane(t)
	l.own()
	p, told := l.pace()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Wait(ctx) }()
	<-told
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestPace_LagCannotBeRead(t *testing.T) {
	l := newLane(t)
	p, _ := l.pace()
	p.Source.Stream = "OTHER"
	if err := p.Wait(t.Context()); !errors.Is(err, jetstream.ErrStreamNotFound) || !strings.HasPrefix(err.Error(), "lag of the live projection: ") {
		t.Error(err)
	}
}
