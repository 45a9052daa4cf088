package scenario_test

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/rebuild"
)

// A customer copies what is served wrong. When a rebuild or a repair has corrected it, windows by updatedAt lead to
// the same copy as reading everything from the beginning.
func TestReports_CopyAfterCorrection(t *testing.T) {
	t.Parallel()
	for name, correct := range map[string]func(context.Context, rebuild.Config, uuid.UUID) error{
		"rebuild": func(ctx context.Context, c rebuild.Config, _ uuid.UUID) error {
			_, err := rebuild.Run(ctx, c, false)
			return err
		},
		"repair": func(ctx context.Context, c rebuild.Config, system uuid.UUID) error {
			_, err := rebuild.Repair(ctx, c, system)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkCopy(t, correct)
		})
	}
}

func checkCopy(t *testing.T, correct func(context.Context, rebuild.Config, uuid.UUID) error) {
	t.Helper()
	h := newHarness(t)
	d := &reportRun{harness: h, system: uuid.New(), floor: time.Now(), progress: sync.NewCond(new(sync.Mutex))}
	extension := uuid.New()
	states := []events.State{
		phoneSystem(d.system, 1, "A"),
		&events.Extension{ID: extension, PhoneSystemID: d.system, Version: 1, Name: "Desk", Number: "101", Status: "active"},
	}
	for range 12 {
		c := call(d.system, uuid.New(), 1)
		c.AnsweredByExtensionID = events.Some(extension)
		states = append(states, c)
	}
	h.apply(changed(states...)...)
	d.key = h.systemKey(d.system)
	start := d.floor.Add(-time.Minute)
	customer := newConsumer(d, "updatedAt", start)
	walk := func(c *consumer) {
		t.Helper()
		if err := c.walk(t.Context(), d.present(), 5); err != nil {
			t.Fatal(err)
		}
	}
	const three = " where id in (select id from projection.call_log where system_id = $1 order by id limit 3)"
	config := rebuild.Config{JetStream: h.JetStream, Stream: events.StreamName, Database: h.Pool}
	for _, damage := range []string{
		"update projection.call_log set from_party = 'wrong'" + three,
		"delete from projection.call_log" + three,
		"delete from projection.topology where kind = 'extension' and system_id = $1",
	} {
		h.Exec(damage, d.system)
		customer.from, customer.rows = start, make(map[string]string)
		walk(customer)
		wrong := maps.Clone(customer.rows)
		if err := correct(t.Context(), config, d.system); err != nil {
			t.Fatal(err)
		}
		eventstest.Eventually(t, "a watermark after the correction", func() bool {
			return h.QueryInt("select count(*) from control.correction c join projection.position p using (partition) where p.watermark <= c.clock") == 0
		})
		walk(customer)
		all := newConsumer(d, "updatedAt", start)
		walk(all)
		if !maps.Equal(customer.rows, all.rows) || len(all.rows) != 12 || maps.Equal(wrong, all.rows) {
			t.Errorf("%s: copy = %v, want %v, other than %v", damage, customer.rows, all.rows, wrong)
		}
	}
}

func extensionNamed(system, id uuid.UUID, version int64, name string) events.State {
	return &events.Extension{ID: id, PhoneSystemID: system, Version: version, Name: name, Number: "101", Status: "active"}
}
