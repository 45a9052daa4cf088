package replay_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/semaphore"

	"callboard/events/eventstest"
	"callboard/projector/replay"
	"callboard/projector/store"
)

// As many pieces are in memory as there may be, of all parts together.
func TestFold_FoldsPiecesOfPartsAtTheSameTime(t *testing.T) {
	t.Parallel()
	c := readCatalog(t)
	const slots, pieces = 6, 3
	h := companyHistory(t, 2, 200, 2)
	s := openSpool(t, t.TempDir(), h.plan(slots))
	if err := s.Append(h.messages); err != nil {
		t.Fatal(err)
	}
	want := h.want(t, c, store.ReadingOrder)
	got := newResult()
	limit := semaphore.NewWeighted(pieces)
	var folded atomic.Int64
	var first sync.Once
	for _, p := range h.plan(slots).Parts {
		f := s.Fold(p.PartID, replay.Folding{Catalog: c, Memory: 1 << 20, Pieces: limit, Folded: func(n int64) {
			folded.Add(n)
			first.Do(func() { // no piece goes on until all that may be in memory are
				eventstest.Eventually(t, "as many pieces in memory as there may be", func() bool {
					more := limit.TryAcquire(1)
					if more {
						limit.Release(1)
					}
					return !more
				})
			})
		}})
		if err := f.UpTo(t.Context(), h.last(), store.Decisions{}); err != nil {
			t.Fatal(err)
		}
		got.add(t, f.Changes(), f.Rows())
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if lines := got.differences(want); len(lines) > 0 {
		t.Error(lines)
	}
	if n := folded.Load(); n != want.counts.TotalRead() {
		t.Errorf("folded messages = %d, want %d", n, want.counts.TotalRead())
	}
}

// An error of one piece ends the others, and gives their memory back.
func TestFold_EndsAllPiecesAtAnError(t *testing.T) {
	t.Parallel()
	c, dir := readCatalog(t), t.TempDir()
	const slots, pieces = 6, 2
	h := companyHistory(t, 1, 200, 1)
	s := openSpool(t, dir, h.plan(slots))
	if err := s.Append(h.messages); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	limit := semaphore.NewWeighted(pieces)
	fold := func(ctx context.Context) error {
		f := s.Fold(replay.PartID{}, replay.Folding{Catalog: c, Memory: 1 << 20, Pieces: limit})
		return errors.Join(f.UpTo(ctx, h.last(), store.Decisions{}), f.Close())
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := fold(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	damageFile(t, filepath.Join(dir, "replay-0-0-slot-2"))
	if err := fold(t.Context()); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want that of the damaged file", err)
	}
	if !limit.TryAcquire(pieces) {
		t.Error("a piece is in memory, want none after an error")
	}
}

func damageFile(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
