package replay_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/semaphore"
	"pgregory.net/rapid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/fold"
	"callboard/projector/replay"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childFolder) != "" {
		os.Exit(runChild())
	}
	eventstest.CheckCases(40)
	schematest.Run(m)
}

// failer is the part of [testing.T] that [rapid.T] has, too.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func readCatalog(tb testing.TB) store.Catalog {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), schematest.New(tb).URL())
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(context.Background())
	c, err := store.ReadCatalog(tb.Context(), conn, "projection")
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func (h history) want(t failer, c store.Catalog, order store.Order) result {
	t.Helper()
	want := newResult()
	for partition := range int16(h.partitions) {
		changes := h.folded(partition)
		want.add(t, changes, store.EncodedRows(changes.State, c, order))
	}
	return want
}

// spool spools the history. The process dies now and then: what it has written since the last checkpoint is on disk in part.
func (h history) spool(t *rapid.T, dir string, plan replay.Plan) *replay.Spool {
	open := func() *replay.Spool {
		s := openSpool(t, dir, plan)
		for partition := range h.decisions {
			target, limited := plan.Targets[partition]
			s.SetClockCaps(partition, fold.NewClockCaps(slices.DeleteFunc(slices.Clone(h.caps[partition]), func(c fold.ClockCap) bool {
				return limited && c.First > target
			})))
		}
		return s
	}
	s := open()
	for s.Sequence() < h.last() {
		rest := h.messages
		for rest[0].Sequence <= s.Sequence() {
			rest = rest[1:]
		}
		n := rapid.IntRange(1, len(rest)).Draw(t, "messages")
		if err := s.Append(rest[:n]); err != nil {
			t.Fatal(err)
		}
		switch rapid.IntRange(0, 7).Draw(t, "step") {
		case 0, 1:
			if err := s.Checkpoint(); err != nil {
				t.Fatal(err)
			}
		case 2:
			tearFiles(t, dir)
			s = open()
		}
	}
	return s
}

// extend spools what is above the targets. Only then the caps of these messages are known.
func (h history) extend(t *rapid.T, s *replay.Spool, plan replay.Plan) {
	for partition := range int16(h.partitions) {
		target, limited := plan.Targets[partition]
		if !limited {
			continue
		}
		s.SetClockCaps(partition, h.decisions[partition].ClockCaps)
		above := slices.DeleteFunc(slices.Clone(h.messages), func(m events.StoredMessage) bool {
			return m.Sequence <= target || !strings.HasPrefix(m.Subject, fmt.Sprintf("phones.%d.", partition))
		})
		if len(above) > 0 {
			n := rapid.IntRange(1, len(above)).Draw(t, "extended")
			if err := s.Extend(partition, above[:n], above[n-1].Sequence); err != nil {
				t.Fatal(err)
			}
			above = above[n:]
		}
		if err := s.Extend(partition, above, h.last()); err != nil {
			t.Fatal(err)
		}
	}
}

func openSpool(t failer, dir string, plan replay.Plan) *replay.Spool {
	t.Helper()
	s, err := replay.Open(dir, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tearFiles adds to files what a process can have written that was killed, or less.
func tearFiles(t *rapid.T, dir string) {
	names, err := filepath.Glob(filepath.Join(dir, "replay-*-slot-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, filepath.Join(dir, "replay-0-0-slot-0"), filepath.Join(dir, "replay-0-0-claims")) {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Write(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "torn"))
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
}

func TestReplay_GivesTheRowsOfAFoldInOnePiece(t *testing.T) {
	t.Parallel()
	c, dir := readCatalog(t), t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		order := rapid.SampledFrom([]store.Order{store.ReadingOrder, store.KeyOrder}).Draw(t, "order")
		plan := h.drawPlan(t)
		s := h.spool(t, dir, plan)
		h.extend(t, s, plan)
		got, folding := newResult(), replay.Folding{Catalog: c, Order: order}
		folding.Memory = int64(rapid.SampledFrom([]int{1 << 10, 8 << 10, 1 << 20}).Draw(t, "memory"))
		pieces := int64(rapid.IntRange(1, 4).Draw(t, "pieces"))
		folding.Pieces = semaphore.NewWeighted(pieces)
		for _, p := range plan.Parts {
			f := s.Fold(p.PartID, folding)
			for _, sequence := range []uint64{uint64(rapid.IntRange(0, int(h.last())).Draw(t, "before")), h.last()} {
				if err := f.UpTo(context.Background(), sequence, h.decisions[p.Partition]); err != nil {
					t.Fatal(err)
				}
			}
			got.add(t, f.Changes(), f.Rows())
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if err := s.Done(p.PartID); err != nil {
				t.Fatal(err)
			}
		}
		if lines := got.differences(h.want(t, c, order)); len(lines) > 0 {
			t.Fatal(strings.Join(lines, "\n"))
		}
		if !folding.Pieces.TryAcquire(pieces) {
			t.Fatal("a piece is in memory, want none after all parts were closed")
		}
		if err := s.Delete(); err != nil {
			t.Fatal(err)
		}
	})
}
