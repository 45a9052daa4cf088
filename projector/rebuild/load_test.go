package rebuild_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema"
	"callboard/schema/schematest"
)

// loadInterval is the time between two portions of the load. On a busy machine the projector applies them later
// than that.
const loadInterval = 50 * time.Millisecond

// startLoad publishes sample events, not faster than the projector applies them. stop returns when publishing has
// ended.
func (h *harness) startLoad(seed uint64) (stop func()) {
	h.Helper()
	ctx, cancel := context.WithCancel(h.Context())
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(loadInterval)
		defer tick.Stop()
		for ; ctx.Err() == nil; seed++ {
			for portion := range slices.Chunk(again(sampleEvents(seed, 60)), 20) {
				if err := h.Publisher.Publish(h.Context(), portion...); err != nil {
					h.Errorf("publish: %v", err)
					return
				}
				<-tick.C
				if !h.waitForProjector(ctx) {
					return
				}
			}
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
}

// waitForProjector waits until every position is within 500 messages of the stream's end. It returns false if ctx ends.
func (h *harness) waitForProjector(ctx context.Context) bool {
	info, err := h.Stream.Info(h.Context())
	if err != nil {
		h.Errorf("stream: %v", err)
		return false
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var behind bool
		err := schema.Repeat(h.Context(), h.Pool, func(ctx context.Context, conn *pgxpool.Conn) (bool, error) {
			return false, conn.QueryRow(ctx, "select min(sequence) < $1 from projection.position", int64(info.State.LastSeq)-500).Scan(&behind)
		})
		if err != nil {
			h.Errorf("position: %v", err)
			return false
		}
		if !behind {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// reader reads a phone system's calls and watermark in one statement, as the reader program does.
type reader struct {
	testing.TB
	pool      *pgxpool.Pool
	system    uuid.UUID
	watermark time.Time
	updated   map[uuid.UUID]time.Time // by call
	found     bool                    // the phone system
	responses int
}

const readCallsSQL = `
	select coalesce(w.watermark, 'epoch'), c.id, c.updated_at
	from projection.phone_system s
	left join projection.position w on w.partition = s.partition
	left join projection.call_log c on c.partition = s.partition and c.system_id = s.id
	where s.id = $1`

// read compares a response with the one before: the watermark does not go back, and no row appears behind it. No
// time is too far ahead.
func (r *reader) read(ctx context.Context) error {
	now := make(map[uuid.UUID]time.Time)
	watermark := r.watermark
	found := false
	err := schema.Repeat(ctx, r.pool, func(ctx context.Context, conn *pgxpool.Conn) (bool, error) {
		rows, _ := conn.Query(ctx, readCallsSQL, r.system)
		var id *uuid.UUID
		var updated *time.Time
		_, err := pgx.ForEachRow(rows, []any{&watermark, &id, &updated}, func() error {
			found = true
			if id != nil {
				now[*id] = *updated
			}
			return nil
		})
		return found, err
	})
	if err != nil {
		return err
	}
	if !found && r.found {
		return errors.New("the phone system is gone")
	}
	if watermark.Before(r.watermark) {
		r.Errorf("watermark = %v, was %v before", watermark, r.watermark)
	}
	for id, updated := range now {
		if before, known := r.updated[id]; updated.Before(r.watermark) && (!known || !before.Equal(updated)) {
			r.Errorf("call %s: updated at %v, behind the watermark %v; was known = %t, at %v", id, updated, r.watermark, known, before)
		}
	}
	r.watermark, r.updated, r.found = watermark, now, found
	r.responses++
	return r.checkAhead()
}

// checkAhead checks the times of the newest response.
func (r *reader) checkAhead() error {
	latest := time.Now()
	if r.watermark.After(latest) {
		return fmt.Errorf("watermark = %v, want %v or before", r.watermark, latest)
	}
	for id, updated := range r.updated {
		if updated.After(latest) {
			return fmt.Errorf("call %s: updated at %v, want %v or before", id, updated, latest)
		}
	}
	return nil
}

// startReaders reads each phone system every 20 ms. stop fails the test if one of them got no response.
func (h *harness) startReaders(systems ...uuid.UUID) (stop func()) {
	h.Helper()
	pool := h.Database.RolePool(h, "callboard_reader")
	ctx, cancel := context.WithCancel(h.Context())
	var running sync.WaitGroup
	readers := make([]*reader, len(systems))
	for i, system := range systems {
		r := &reader{TB: h.TB, pool: pool, system: system}
		readers[i] = r
		running.Go(func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for ; ctx.Err() == nil; <-tick.C {
				if err := r.read(h.Context()); err != nil {
					h.Errorf("read: %v", err)
					return
				}
			}
		})
	}
	return func() {
		h.Helper()
		cancel()
		running.Wait()
		for _, r := range readers {
			if r.responses == 0 {
				h.Errorf("phone system %s: responses = 0", r.system)
			}
		}
	}
}

// Publishers, readers and the projector continue during a rebuild and a rollback.
func TestRun_UnderLoad(t *testing.T) {
	schematest.NeedOneServer(t, "deploy/test/fault rebuilds under load there")
	t.Parallel()
	h := newHarness(t)
	stopProjector := h.StartProjector()
	first, second := sampleEvents(41, 120), sampleEvents(200, 60) // the load publishes the second again, as stale events
	h.Publish(first[:len(first)/2]...)
	h.Publish(second[:len(second)/2]...)
	h.WaitUntilCaughtUp()
	stopReaders := h.startReaders(append(systemsOf(first)[:2], systemsOf(second)[:2]...)...)
	stopLoad := h.startLoad(200)
	h.Publish(first[len(first)/2:]...)
	if result := h.rebuild(); result.Comparison.Differs() {
		t.Errorf("comparison = %+v, want no difference", result.Comparison)
	}
	h.requireVerified("after the switch")
	h.rollback()
	h.requireVerified("after the rollback")
	stopLoad()
	h.WaitUntilCaughtUp()
	stopReaders()
	stopProjector()
	h.RequireReplayEquals(h.Database.Projection(t))
}
