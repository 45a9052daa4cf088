package rebuild_test

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

// slicesOf makes slices of some keys, without intervals.
func slicesOf(rows int64) func(*rebuild.Config) {
	return func(c *rebuild.Config) { c.Slices = rebuild.SliceLimits{Rows: rows, Age: time.Hour, Interval: 1} }
}

// sorted returns a comparison whose samples are in the order of their tables and keys.
func sorted(c rebuild.Comparison) rebuild.Comparison {
	slices.SortFunc(c.Samples, func(a, b rebuild.Difference) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	return c
}

// A comparison in many slices reports what one in a single slice reports, and what a verification does.
func TestRun_SlicesReportTheSame(t *testing.T) {
	schematest.NeedOneServer(t, "it deletes rows by their place")
	t.Parallel()
	h := newDamageHarness(t)
	system := projectortest.QueryOne[string](h.Harness, "select system_id::text from projection.day_count group by 1 order by count(*) desc, 1 limit 1")
	h.Exec(fmt.Sprintf("delete from projection.day_count where system_id = '%s'", system))
	for _, table := range h.tables {
		h.Exec(table.duplicateFor(uuid.New()))
		h.Exec(table.remove())
		h.Exec(table.change(t, table.last(false)))
	}
	h.Exec("update projection.message_count set read = read + 1 where entity = 'call'")
	want := sorted(h.verify())
	if summed := slices.ContainsFunc(want.Samples, func(d rebuild.Difference) bool { return d.Table == "day_count" && d.Rows > 20 }); !summed {
		t.Errorf("samples = %+v, want one of all day counts of %s", want.Samples, system)
	}
	rows := want.Rows
	for _, size := range []int64{0, 40} {
		result := h.rebuild(slicesOf(size))
		if got := sorted(result.Comparison); !reflect.DeepEqual(got, want) {
			t.Errorf("slices of %d: comparison = %+v, want %+v", size, got, want)
		}
		if pauses := int64(result.SnapshotPauses); size == 0 && pauses != 1 || size > 0 && pauses < rows/size {
			t.Errorf("slices of %d: write pauses = %d, want 1 or, of %d rows, one for each slice", size, pauses, rows)
		}
		h.rollback() // to the damaged rows
	}
}

// A slice also ends when its snapshots are old, and write pauses keep their interval.
func TestRun_SlicesEndWithAgeOfSnapshots(t *testing.T) {
	t.Parallel()
	h := newStoppedHarness(t, sampleEvents(29, 1))
	const interval = 100 * time.Millisecond
	result := h.requireRebuilt(func(c *rebuild.Config) { c.Slices = rebuild.SliceLimits{Age: 5 * time.Millisecond, Interval: interval} })
	if result.SnapshotPauses < 2 {
		t.Errorf("write pauses = %d, want several for %d rows", result.SnapshotPauses, result.Comparison.Rows)
	}
	if least := float64(result.SnapshotPauses-1) * interval.Seconds(); float64(result.Compare+result.Follow) < least {
		t.Errorf("compared and followed in %.2f s, want at least %.2f s for %d write pauses", result.Compare+result.Follow, least, result.SnapshotPauses)
	}
	if result.SnapshotPause <= 0 || result.SnapshotPause > result.Compare+result.Follow {
		t.Errorf("longest write pause = %.3f s, want the time of one of %.3f s", result.SnapshotPause, result.Compare+result.Follow)
	}
}

// What a projector writes between two slices is no difference.
func TestRun_SlicesUnderLoad(t *testing.T) {
	t.Parallel()
	h, _ := newAppliedHarness(t, sampleEvents(41, 40))
	load := sampleEvents(300, 60)
	published := make(chan struct{})
	publish := func() {
		defer close(published)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for portion := range slices.Chunk(load, 5) {
			if err := h.Publisher.Publish(t.Context(), portion...); err != nil {
				t.Errorf("publish: %v", err)
				return
			}
			<-tick.C
		}
	}
	begun := store.SnapshotOptions().BeginQuery
	snapshots := 0 // two of each slice
	tracer := &schematest.Tracer{Statement: func(sql string, _ []any) {
		if sql != begun {
			return
		}
		if snapshots++; snapshots == 3 {
			const read = "select sum(read)::bigint from projection.message_count"
			before := h.QueryInt(read)
			go publish()
			eventstest.Eventually(t, "a message between the first slices", func() bool { return h.QueryInt(read) > before })
		}
	}}
	result := h.rebuild(slicesOf(50), func(c *rebuild.Config) { c.Database = schematest.OpenTracedPool(t, c.Database, tracer) })
	<-published
	if result.Comparison.Differs() {
		t.Errorf("comparison = %+v, want no difference", result.Comparison)
	}
	if result.SnapshotPauses < 10 {
		t.Errorf("write pauses = %d, want at least 10", result.SnapshotPauses)
	}
	h.WaitUntilCaughtUp()
	h.requireVerified("afterwards")
}

// While a commit does not end, a write pause is not tried without an interval in which other commits can go on.
func TestRun_WritePauseBacksOff(t *testing.T) {
	t.Parallel()
	h := newStoppedHarness(t, sampleEvents(29, 1))
	lock, err := h.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Rollback(context.WithoutCancel(t.Context())) }) // also if the rebuild failed
	var reasons []string
	var began, ended time.Time
	h.requireRebuilt(onStep(rebuild.StepFollow, func() {
		if _, err := lock.Exec(t.Context(), "update projection.position set epoch = epoch where partition = 0"); err != nil {
			t.Error(err)
		}
	}), func(c *rebuild.Config) {
		c.Throttled = func(reason string) {
			if reasons = append(reasons, reason); len(reasons) != 1 {
				ended = time.Now()
				return
			}
			began = time.Now()
			if h.waitsForLock("relname = 'position'") {
				t.Error("the rebuild waits for the lock while it backs off")
			}
			if err := lock.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	if len(reasons) != 2 || !strings.HasPrefix(reasons[0], "waiting for a write pause") || reasons[1] != "" {
		t.Errorf("reasons = %q, want one and its end", reasons)
	}
	if waited := ended.Sub(began); waited < 40*time.Millisecond {
		t.Errorf("interval = %s, want 50 ms or more", waited)
	}
}
