package rebuild_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events"
)

// flood publishes companies one after the other, as fast as the projector takes them, until stop is called, which returns once it has
// ended.
func (s *stage) flood(seed uint64) (stop func()) {
	s.TB.Helper()
	ctx, cancel := context.WithCancel(s.TB.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ; ctx.Err() == nil; seed++ {
			for portion := range slices.Chunk(company(seed, 60), 100) {
				if err := s.Publisher.Publish(s.TB.Context(), portion...); err != nil {
					s.TB.Errorf("publish: %v", err)
					return
				}
				if !s.keepsUp(ctx) {
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

// keepsUp waits until the projector is no more than some portions behind; no: ctx ended.
func (s *stage) keepsUp(ctx context.Context) bool {
	info, err := s.Stream.Info(s.TB.Context())
	if err != nil {
		s.TB.Errorf("stream: %v", err)
		return false
	}
	for ctx.Err() == nil {
		var behind bool
		err := s.Pool.QueryRow(s.TB.Context(), "select min(sequence) < $1 from projection.position", int64(info.State.LastSeq)-500).Scan(&behind)
		if err != nil {
			s.TB.Errorf("position: %v", err)
			return false
		}
		if !behind {
			return true
		}
	}
	return false
}

// reader asks as the reader program does: one statement an answer.
type reader struct {
	tb        testing.TB
	pool      *pgxpool.Pool
	system    uuid.UUID
	watermark time.Time
	seen      map[uuid.UUID]time.Time
	found     bool
	answers   int
}

const question = `
	select coalesce(w.watermark, 'epoch'), c.id, c.updated_at
	from projection.phone_system s
	left join projection.position w on w.partition = s.partition
	left join projection.call_log c on c.system_id = s.id
	where s.id = $1`

// ask holds an answer against the one before: the watermark doesn't go back, and no row appears behind it.
func (r *reader) ask(ctx context.Context) error {
	rows, err := r.pool.Query(ctx, question, r.system)
	if err != nil {
		return err
	}
	defer rows.Close()
	now := make(map[uuid.UUID]time.Time)
	watermark := r.watermark
	found := false
	for rows.Next() {
		var id *uuid.UUID
		var updated *time.Time
		if err := rows.Scan(&watermark, &id, &updated); err != nil {
			return err
		}
		found = true
		if id != nil {
			now[*id] = *updated
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if !found && r.found {
		return errors.New("the phone system is gone")
	}
	if watermark.Before(r.watermark) {
		r.tb.Errorf("the watermark went from %v back to %v", r.watermark, watermark)
	}
	for id, updated := range now {
		if before, known := r.seen[id]; updated.Before(r.watermark) && (!known || !before.Equal(updated)) {
			r.tb.Errorf("call %s: updated at %v, which the watermark %v had passed; known %v at %v", id, updated, r.watermark, known, before)
		}
	}
	r.watermark, r.seen, r.found = watermark, now, found
	r.answers++
	return nil
}

// crowd asks about phone systems without a pause until stop is called, which returns how many answers there were.
func (s *stage) crowd(systems ...uuid.UUID) (stop func() int) {
	s.TB.Helper()
	pool, err := pgxpool.New(s.TB.Context(), s.Database.RoleURL("callboard_reader"))
	if err != nil {
		s.TB.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.TB.Context())
	var running sync.WaitGroup
	readers := make([]*reader, len(systems))
	for i, system := range systems {
		readers[i] = &reader{tb: s.TB, pool: pool, system: system}
		running.Go(func() {
			for ctx.Err() == nil {
				if err := readers[i].ask(s.TB.Context()); err != nil {
					s.TB.Errorf("read: %v", err)
					return
				}
			}
		})
	}
	return func() (answers int) {
		cancel()
		running.Wait()
		pool.Close()
		for _, r := range readers {
			answers += r.answers
		}
		return answers
	}
}

// systemsOf are the phone systems that a history announces.
func systemsOf(history []events.Event) (list []uuid.UUID) {
	for _, e := range history {
		if e.Entity == events.EntityPhoneSystem && !e.Deleted() {
			list = append(list, e.System)
		}
	}
	return list
}

// Whoever publishes, reads and projects notices nothing of a rebuild.
func TestRun_UnderLoad(t *testing.T) {
	s := newStage(t)
	stopProjector := s.StartProjector()
	first, second := company(41, 300), company(200, 60) // which the flood brings again, as stale events
	s.Publish(first[:len(first)/2]...)
	s.Publish(second[:len(second)/2]...)
	s.WaitUntilCaughtUp()
	systems := append(systemsOf(first)[:2], systemsOf(second)[:2]...)
	stopCrowd := s.crowd(systems...)
	stopFlood := s.flood(200)
	s.Publish(first[len(first)/2:]...)
	if result := s.rebuild(); result.Comparison.Differs() {
		t.Errorf("%+v", result.Comparison)
	}
	s.mustVerify("right after the switch")
	s.rollback()
	s.mustVerify("right after the rollback")
	stopFlood()
	s.WaitUntilCaughtUp()
	t.Logf("%d answers", stopCrowd())
	stopProjector()
	whole := s.Database.Projection(t)
	if list := s.Replay().Diff(whole); len(list) > 0 {
		t.Error(list)
	}
}
