package replay

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"callboard/projector/fold"
	"callboard/projector/store"
)

// Folding says how parts are folded.
type Folding struct {
	JetStream jetstream.JetStream  // for claim checks
	Catalog   store.Catalog        // of the schema for which rows are encoded
	Order     store.Order          // of the rows
	Memory    int64                // bytes that folding one piece may need: a part, a slot, or less
	Pieces    *semaphore.Weighted  // how many pieces may be in memory at a time, of all parts that share it; nil: one of each part
	Folded    func(messages int64) // called after messages were folded, from several goroutines; may be nil
}

// PartFold folds a part, the pieces of a large one at the same time. It is for one goroutine. Close it.
type PartFold struct {
	Folding
	spool *Spool
	part  *spooledPart

	adding  sync.Mutex // guards the changes while pieces are folded
	changes store.ChangeSet
	whole   *piece           // nil: the part doesn't fit in memory; else it is one of the pieces in memory until Close
	runs    *runs            // of a part that doesn't fit
	folded  map[string]int64 // the lengths of the files of which all records are in the runs; nil: not all
	applied int              // corrections to the rows of the runs
	moved   *files
}

// Fold begins to fold a part, which must not be done.
func (s *Spool) Fold(id PartID, f Folding) *PartFold {
	if f.Pieces == nil {
		f.Pieces = semaphore.NewWeighted(1)
	}
	return &PartFold{Folding: f, spool: s, part: s.parts[id]}
}

// UpTo folds the part's messages up to a sequence, for which it waits. decisions are those about all messages of the partition up to the
// sequence, with the corrections that its watermark has reached there. It can be called again for more messages: a part that fits in memory
// goes on where it was, another one is folded again if it has more.
func (f *PartFold) UpTo(ctx context.Context, sequence uint64, decisions store.Decisions) error {
	err := f.spool.wait(ctx, f.part.Partition, sequence)
	if err == nil {
		err = f.upTo(ctx, sequence, decisions)
	}
	if err != nil {
		return fmt.Errorf("fold part %d of partition %d: %w", f.part.Number, f.part.Partition, err)
	}
	return nil
}

func (f *PartFold) upTo(ctx context.Context, sequence uint64, decisions store.Decisions) error {
	if spooled := f.spool.Spooled(f.part.Partition); sequence > spooled {
		return fmt.Errorf("messages are spooled up to %d, not %d", spooled, sequence)
	}
	snap, err := f.spool.snapshot(f.part)
	if err != nil {
		return err
	}
	if f.folded != nil && maps.Equal(f.folded, snap.lengths) && f.applied == len(decisions.Corrections) { // the runs have everything
		f.changes.To = f.position(snap.at, sequence, decisions)
		return nil
	}
	if err := f.resolve(ctx, snap, sequence, decisions); err != nil {
		return err
	}
	slots := f.pieces(snap)
	if len(slots) == 1 && slots[0] == 1 || f.whole != nil {
		err = f.foldWhole(ctx, snap, sequence, decisions)
	} else {
		err = f.foldPieces(ctx, slots, snap, sequence, decisions)
		if f.folded = nil; err == nil && snap.at.LastMessage <= sequence {
			f.folded, f.applied = snap.lengths, len(decisions.Corrections)
		}
	}
	f.changes.To = f.position(snap.at, sequence, decisions)
	return err
}

// resolve writes the records that belong into other slots than their own.
func (f *PartFold) resolve(ctx context.Context, snap snapshot, sequence uint64, decisions store.Decisions) error {
	f.moved = newFiles(f.spool.dir)
	if !f.part.divided() {
		return nil
	}
	if err := f.removeMoved(); err != nil {
		return err
	}
	if err := f.Pieces.Acquire(ctx, 1); err != nil { // facet references need as much memory as a piece
		return err
	}
	defer f.Pieces.Release(1)
	r := resolution{part: f.part, lengths: snap.lengths, files: f.moved, upTo: sequence, decisions: decisions, memory: f.Memory}
	return r.run()
}

// pieces returns into how many pieces each slot is divided.
func (f *PartFold) pieces(snap snapshot) []uint64 {
	slots := make([]uint64, f.part.slotCount())
	for slot := range slots {
		bytes := snap.lengths[f.part.slotName(slot)] + f.moved.length(f.part.movedName(slot))
		slots[slot] = uint64(pieces(bytes, f.Memory))
	}
	return slots
}

func (f *PartFold) foldWhole(ctx context.Context, snap snapshot, sequence uint64, decisions store.Decisions) error {
	if f.whole == nil {
		if err := f.Pieces.Acquire(ctx, 1); err != nil {
			return err
		}
		f.whole = f.newPiece(0, 0, 1)
	}
	err := f.whole.foldUpTo(ctx, f.moved, snap.lengths, sequence, decisions)
	f.changes = f.whole.folder.Changes
	return err
}

// foldPieces folds as many pieces at a time as there may be in memory, and keeps their counters and sorted rows.
func (f *PartFold) foldPieces(ctx context.Context, slots []uint64, snap snapshot, sequence uint64, decisions store.Decisions) error {
	if err := f.begin(); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for slot, count := range slots {
		for number := range count {
			if err := f.Pieces.Acquire(ctx, 1); err != nil {
				return cmp.Or(group.Wait(), err)
			}
			group.Go(func() error {
				defer f.Pieces.Release(1)
				p := f.newPiece(slot, number, count)
				if err := p.foldUpTo(ctx, f.moved, snap.lengths, sequence, decisions); err != nil {
					return err
				}
				return f.add(p)
			})
		}
	}
	err := group.Wait()
	slices.SortFunc(f.changes.DeadLetters, func(a, b store.DeadLetter) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return err
}

// begin forgets an earlier fold.
func (f *PartFold) begin() error {
	if f.runs != nil {
		if err := f.runs.remove(); err != nil {
			return err
		}
	}
	f.runs = newRuns(f.spool.dir, f.part, f.Catalog.Tables())
	state := &fold.State{
		Partition: f.part.Partition, Counts: make(fold.Deltas[fold.CountKey]), References: make(fold.Deltas[fold.ReferenceKey]),
		Directories: make(fold.Deltas[uuid.UUID]),
	}
	from := store.Position{Partition: f.part.Partition, Stream: f.spool.plan.Stream}
	f.changes = store.ChangeSet{From: from, To: from, State: state, MessageCounts: make(store.MessageCounts)}
	return nil
}

// add adds a piece: its counters in memory, its other rows as runs.
func (f *PartFold) add(p *piece) error {
	state := p.folder.Changes.State
	if p.part.divided() && !p.first() {
		state.RemoveLookedUp()
	}
	f.addCounters(p, state)
	return f.runs.add(store.EncodedRows(state, f.Catalog, f.Order))
}

// addCounters moves a piece's counters into those of the part.
func (f *PartFold) addCounters(p *piece, state *fold.State) {
	f.adding.Lock()
	defer f.adding.Unlock()
	sums := f.changes.State
	addDeltas(sums.Counts, state.Counts)
	addDeltas(sums.References, state.References)
	addDeltas(sums.Directories, state.Directories)
	state.Counts, state.References, state.Directories = nil, nil, nil
	if to := p.folder.Changes.To; to.LastMessage > f.changes.To.LastMessage {
		f.changes.To = to
	}
	f.changes.MessageCounts.Add(p.folder.Changes.MessageCounts)
	f.changes.DeadLetters = append(f.changes.DeadLetters, p.folder.Changes.DeadLetters...)
}

func addDeltas[K comparable](sums, deltas fold.Deltas[K]) {
	for key, n := range deltas {
		sums[key] += n
	}
}

// position returns the partition's position after the messages up to a sequence.
func (f *PartFold) position(at passed, sequence uint64, decisions store.Decisions) store.Position {
	to := f.changes.To
	to.Sequence = sequence
	if at.LastMessage <= sequence {
		to.LastMessage, to.LastMessageAt = at.LastMessage, at.LastMessageAt
		to.Clock.Now = max(to.Clock.Now, at.Clock)
	}
	to.Clock.Now = newAdjustedClock(decisions).upTo(sequence, to.Clock.Now)
	to.Clock.RaiseWatermark(to.Clock.Now)
	return to
}

// Changes returns the message counts, the messages that can't be applied any more as dead letters, and the position. The position is the
// partition's if no message above it was appended yet, or the plan's target is there; else its clock and last message are those of the
// part. The state has all rows, or only the counters of a part that doesn't fit in memory: [PartFold.Rows] has the rows of
// both.
func (f *PartFold) Changes() store.ChangeSet { return f.changes }

// Rows returns the part's rows, in order.
func (f *PartFold) Rows() store.TableRows {
	inMemory := store.EncodedRows(f.changes.State, f.Catalog, f.Order)
	if f.whole != nil {
		return inMemory
	}
	return f.runs.merged(inMemory)
}

// RowsByKey returns the rows in the order of their keys; false: the part doesn't fit in memory, so its rows are in the other order only.
func (f *PartFold) RowsByKey() (rows store.TableRows, ok bool) {
	if f.whole == nil {
		return nil, false
	}
	return store.EncodedRows(f.changes.State, f.Catalog, store.KeyOrder), true
}

// Close deletes what folding has written, and gives its memory back. The records stay.
func (f *PartFold) Close() error {
	if f.whole != nil {
		f.whole, f.changes = nil, store.ChangeSet{}
		f.Pieces.Release(1)
	}
	if f.runs != nil {
		if err := f.runs.remove(); err != nil {
			return err
		}
	}
	return f.removeMoved()
}

func (f *PartFold) removeMoved() error {
	if f.moved == nil || !f.part.divided() {
		return nil
	}
	for slot := range f.part.slotCount() {
		if err := f.moved.remove(f.part.movedName(slot), f.part.droppedName(slot)); err != nil {
			return err
		}
	}
	return nil
}
