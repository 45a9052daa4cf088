package replay_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/projector/replay"
	"callboard/projector/store"
)

// upTo is the history without the messages above a sequence.
func (h history) upTo(sequence uint64) history {
	for len(h.messages) > 0 && h.last() > sequence {
		h.messages = h.messages[:len(h.messages)-1]
	}
	return h
}

// Parts are folded while messages are appended, and wait for those that are missing.
func TestPartFold_FoldsWhileMessagesAreAppended(t *testing.T) {
	t.Parallel()
	c, h := readCatalog(t), companyHistory(t, 4, 150, 2)
	plan := h.plan(2)
	plan.Parts[0].Slots = 1
	s := openSpool(t, t.TempDir(), plan)
	group, ctx := errgroup.WithContext(t.Context())
	group.Go(func() error {
		for _, m := range h.messages {
			if err := s.Append([]events.StoredMessage{m}); err != nil {
				return err
			}
		}
		return s.Checkpoint()
	})
	end := []uint64{h.last() / 3, h.last() / 2, h.last()}
	got := make([]result, len(end)*len(plan.Parts))
	for i, p := range plan.Parts {
		group.Go(func() error {
			f := s.Fold(p.PartID, replay.Folding{Catalog: c, Memory: math.MaxInt64})
			for j, sequence := range end {
				if err := f.UpTo(ctx, sequence, store.Decisions{}); err != nil {
					return err
				}
				r := newResult()
				r.add(t, f.Changes(), f.Rows())
				got[j*len(plan.Parts)+i] = r
			}
			return f.Close()
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for j, sequence := range end {
		want, both := h.upTo(sequence).want(t, c, store.ReadingOrder), newResult()
		for i := range plan.Parts {
			r := got[j*len(plan.Parts)+i]
			for row, n := range r.rows {
				both.rows[row] += n
			}
			both.counts.Add(r.counts)
		}
		want.to, want.deadLetters = both.to, nil
		if lines := both.differences(want); len(lines) > 0 {
			t.Fatalf("up to %d: %s", sequence, strings.Join(lines, "\n"))
		}
	}
}

// Messages of other parts are no reason to fold a part again that is folded in pieces.
func TestPartFold_FoldsAgainOnlyForItsOwnMessages(t *testing.T) {
	t.Parallel()
	c, h := readCatalog(t), companyHistory(t, 2, 60, 1)
	plan := replay.Plan{Stream: stream(), OnlyNamed: true, Parts: []replay.Part{{Systems: h.systems[:1], Slots: 3}}}
	s := openSpool(t, t.TempDir(), plan)
	var folded int64
	f := s.Fold(replay.PartID{}, replay.Folding{Catalog: c, Memory: 1 << 20, Folded: func(n int64) { folded += n }})
	for _, step := range []struct {
		upTo  uint64
		again bool
	}{{h.last() / 2, true}, {h.last() / 2, false}, {h.last(), true}, {h.last() + 9, false}} {
		if err := s.Append(h.upTo(step.upTo).messages); err != nil {
			t.Fatal(err)
		}
		s.SkipTo(step.upTo)
		folded = 0
		if err := f.UpTo(t.Context(), step.upTo, store.Decisions{}); err != nil {
			t.Fatal(err)
		}
		if again := folded > 0; again != step.again {
			t.Errorf("up to %d: folded %d messages, want some: %t", step.upTo, folded, step.again)
		}
		if got, want := f.Changes().To, h.upTo(step.upTo).folded(0).To; got.LastMessage != want.LastMessage || got.Sequence != step.upTo {
			t.Errorf("position = %+v, want %+v", got, want)
		}
	}
}

func TestPartFold_StopsWaitingWithItsContext(t *testing.T) {
	t.Parallel()
	h := companyHistory(t, 1, 1, 1)
	s := openSpool(t, t.TempDir(), h.plan(1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Fold(replay.PartID{}, replay.Folding{}).UpTo(ctx, 1, store.Decisions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
}

// A repair spools one phone system. Messages of others only move the clock.
func TestSpool_HoldsOnlyNamedPhoneSystems(t *testing.T) {
	t.Parallel()
	c, h := readCatalog(t), companyHistory(t, 3, 60, 1)
	named := h.systems[1]
	plan := replay.Plan{Stream: stream(), OnlyNamed: true, Parts: []replay.Part{{Systems: []uuid.UUID{named}, Slots: 2}}}
	s := openSpool(t, t.TempDir(), plan)
	if err := s.Append(h.messages); err != nil {
		t.Fatal(err)
	}
	f := s.Fold(replay.PartID{}, replay.Folding{Catalog: c, Memory: 1 << 20})
	if err := f.UpTo(t.Context(), h.last(), store.Decisions{}); err != nil {
		t.Fatal(err)
	}
	got, want := f.Changes(), h.folded(0)
	if got.To != want.To {
		t.Errorf("position = %+v, want %+v", got.To, want.To)
	}
	rows := 0
	for _, table := range store.Tables() {
		for row, err := range store.DecodedRows(f.Rows()(table), c, table) {
			if rows++; err != nil || row.System != named {
				t.Fatalf("%s: row of %s, %v, want only rows of %s", table, row.System, err, named)
			}
		}
	}
	if rows == 0 || got.MessageCounts.TotalRead() >= want.MessageCounts.TotalRead() {
		t.Errorf("rows = %d, messages = %d of %d, want some rows and fewer messages", rows, got.MessageCounts.TotalRead(), want.MessageCounts.TotalRead())
	}
}

// Messages above a partition's target are not spooled, and nothing can be folded up to there.
func TestSpool_EndsAtTargets(t *testing.T) {
	t.Parallel()
	c, h := readCatalog(t), companyHistory(t, 1, 20, 1)
	plan := h.plan(1)
	target := h.last() / 2
	plan.Targets = map[int16]uint64{0: target}
	s := openSpool(t, t.TempDir(), plan)
	if err := s.Append(h.messages); err != nil {
		t.Fatal(err)
	}
	f := s.Fold(replay.PartID{}, replay.Folding{Catalog: c, Memory: math.MaxInt64})
	if err := f.UpTo(t.Context(), target, store.Decisions{}); err != nil {
		t.Fatal(err)
	}
	if got, want := f.Changes().To, h.upTo(target).folded(0).To; got != want {
		t.Errorf("position = %+v, want %+v", got, want)
	}
	if err := f.UpTo(t.Context(), target+1, store.Decisions{}); err == nil {
		t.Error("folded up to a sequence above the target, want an error")
	}
}

func TestOpen_BeginsAgainWhereTheSpoolIsUnusable(t *testing.T) {
	t.Parallel()
	h := companyHistory(t, 2, 20, 1)
	half := h.messages[:len(h.messages)/2]
	plan := h.plan(2)
	other := plan
	other.Run = "another"
	for name, test := range map[string]struct {
		plan   replay.Plan
		damage func(dir string) error
		done   []replay.PartID
		want   uint64
	}{
		"intact":         {plan, func(string) error { return nil }, nil, half[len(half)-1].Sequence},
		"another plan":   {other, func(string) error { return nil }, nil, 0},
		"no manifest":    {plan, func(dir string) error { return os.Remove(filepath.Join(dir, "replay-manifest.json")) }, nil, 0},
		"torn manifest":  {plan, func(dir string) error { return os.Truncate(filepath.Join(dir, "replay-manifest.json"), 9) }, nil, 0},
		"missing file":   {plan, func(dir string) error { return os.Remove(filepath.Join(dir, "replay-0-0-slot-1")) }, nil, 0},
		"shortened file": {plan, func(dir string) error { return os.Truncate(filepath.Join(dir, "replay-0-0-slot-1"), 9) }, nil, 0},
		"done part": {
			plan, func(dir string) error { return os.Remove(filepath.Join(dir, "replay-0-0-slot-1")) },
			[]replay.PartID{{}}, half[len(half)-1].Sequence,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			foreign := filepath.Join(dir, "notes.txt")
			if err := os.WriteFile(foreign, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			s := openSpool(t, dir, plan)
			if err := errors.Join(s.Append(half), s.Checkpoint(), test.damage(dir)); err != nil {
				t.Fatal(err)
			}
			again, err := replay.Open(dir, test.plan, test.done)
			if err != nil || again.Sequence() != test.want {
				t.Fatalf("sequence = %d, %v, want %d", again.Sequence(), err, test.want)
			}
			if err := errors.Join(again.Append(h.messages), again.Delete()); err != nil {
				t.Fatal(err)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 1 {
				t.Errorf("files = %v, %v, want only one of another program", left, err)
			}
		})
	}
}

// The files hold customers' data.
func TestSpool_IsReadableByItsOwnerOnly(t *testing.T) {
	t.Parallel()
	dir, h := filepath.Join(t.TempDir(), "spool"), companyHistory(t, 1, 5, 1)
	s := openSpool(t, dir, h.plan(2))
	if err := errors.Join(s.Append(h.messages), s.Checkpoint()); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, want none for others", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCheckSpace(t *testing.T) {
	t.Parallel()
	if err := replay.CheckSpace(t.TempDir(), 1); err != nil {
		t.Errorf("one byte: %v", err)
	}
	err := replay.CheckSpace(t.TempDir(), math.MaxInt64/2)
	if !errors.Is(err, replay.ErrSpace) || !replay.IsSpaceError(err) {
		t.Errorf("4 EiB: error = %v, want %v", err, replay.ErrSpace)
	}
}
