package rebuild_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
	"callboard/schema"
)

// walk reads a phone system's calls by updatedAt, each time up to the watermark, as a client does that must miss
// nothing.
type walk struct {
	pool   *pgxpool.Pool
	system uuid.UUID
	from   time.Time
	seen   map[uuid.UUID]time.Time
}

const completeCalls = `
	select p.watermark, c.id, c.updated_at
	from projection.phone_system s
	join projection.position p on p.partition = s.partition
	left join projection.call_log c on c.partition = s.partition and c.system_id = s.id and c.updated_at >= $2 and c.updated_at < p.watermark
	where s.id = $1`

func (w *walk) step(ctx context.Context) error {
	from := w.from
	err := schema.Repeat(ctx, w.pool, func(ctx context.Context, conn *pgxpool.Conn) (found bool, err error) {
		rows, _ := conn.Query(ctx, completeCalls, w.system, w.from)
		var id *uuid.UUID
		var at *time.Time
		_, err = pgx.ForEachRow(rows, []any{&from, &id, &at}, func() error {
			if found = true; id != nil {
				w.seen[*id] = *at
			}
			return nil
		})
		return found, err
	})
	if from.Before(w.from) {
		return errors.New("the watermark went back")
	}
	w.from = from
	return err
}

// While the projection of one stream is served and moves on, a rebuild takes another stream, with other partitions,
// for the next generation. A client that walks by updatedAt reads every row once more.
func TestRun_NewHistory(t *testing.T) {
	history := sampleEvents(71, 60)
	h, stopProjector := newAppliedHarness(t, history)
	var walks []*walk
	for _, system := range systemsOf(history) {
		walks = append(walks, &walk{pool: h.Pool, system: system, seen: make(map[uuid.UUID]time.Time)})
	}
	step := func() {
		for _, w := range walks {
			if err := w.step(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	busy := systemsOf(history)[0]
	goOn := func() {
		h.Apply(projectortest.Call(busy, uuid.New()))
		step()
	}
	goOn()
	other := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	eventstest.CreateStream(t, other, h.Partitions+1)
	publisher := events.NewPublisher(other, "test")
	if err := publisher.Publish(t.Context(), history...); err != nil {
		t.Fatal(err)
	}
	h.waitForWatermarks() // later than what the other stream has stored
	var frozen time.Time
	freeze := onStep(rebuild.StepLoad, func() {
		frozen = projectortest.QueryOne[time.Time](h.Harness, "select max(watermark) from projection.position")
		goOn()
	})
	fromOther := func(c *rebuild.Config) { c.JetStream = other }
	result := h.rebuild(fromOther, freeze, onStep(rebuild.StepIndex, goOn), onStep(rebuild.StepSwitch, goOn))
	if !result.NewHistory {
		t.Error("the rebuild does not report a new history")
	}
	stopProjector()
	step()
	h.requireCount("rows before the highest watermark", 0, "select count(*) from projection.call_log where updated_at < $1", frozen)
	h.requireCount("watermarks before the highest one", 0, "select count(*) from projection.position where watermark < $1", frozen)
	h.JetStream, h.Publisher, h.Partitions = other, publisher, h.Partitions+1
	h.StartProjector(func(c *projector.Config) { c.JetStream = other })
	var err error
	if h.Stream, err = other.Stream(t.Context(), events.StreamName); err != nil {
		t.Fatal(err)
	}
	goOn()
	h.waitForWatermarks()
	step()
	missed := 0
	for _, w := range walks {
		for id, at := range h.calls(w.system) {
			if !w.seen[id].Equal(at) {
				missed++
			}
		}
	}
	if missed > 0 {
		t.Errorf("calls that a walk by updatedAt missed = %d, want 0", missed)
	}
	h.requireVerified("of the new history")
	h.requireRebuilt() // with the same times
}

// An abandoned rebuild from another stream lets the watermarks move again. The previous generation can be dropped
// before, and they stay.
func TestDrop_ReleasesWatermarks(t *testing.T) {
	h, _ := newAppliedHarness(t, sampleEvents(72, 20))
	if _, err := rebuild.Run(t.Context(), h.config(), true); err != nil {
		t.Fatal(err)
	}
	other := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	eventstest.CreateStream(t, other, h.Partitions)
	if err := events.NewPublisher(other, "test").Publish(t.Context(), sampleEvents(72, 20)...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	config := h.config()
	config.JetStream = other
	onStep(rebuild.StepLoad, cancel)(&config)
	if _, err := rebuild.Run(ctx, config, false); !errors.Is(err, context.Canceled) {
		t.Fatalf("error = %v, want %v", err, context.Canceled)
	}
	highest := projectortest.QueryOne[time.Time](h.Harness, "select last_watermark from control.stream where last_watermark is not null")
	if _, err := rebuild.Drop(t.Context(), h.config(), rebuild.Previous); err != nil {
		t.Fatal(err)
	}
	h.Apply(projectortest.Call(uuid.New(), uuid.New()))
	h.requireCount("watermarks above the highest one", 0, "select count(*) from projection.position where watermark > $1", highest)
	if _, err := rebuild.Drop(t.Context(), h.config(), rebuild.Unfinished); err != nil {
		t.Fatal(err)
	}
	h.waitForWatermarks()
	h.requireVerified("abandoned")
}
