package replay

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

const (
	portionMessages = 1000
	portionBytes    = 4 << 20
)

// piece is what is folded in memory at once: a slot, or one of several pieces of a slot that is larger than expected.
type piece struct {
	part         *spooledPart
	slot         int
	number, of   uint64 // of the slot's pieces
	folder       ingest.Folder
	decoder      events.Decoder
	at           int64 // in the slot's file
	reportFolded func(messages int64)
}

func (f *PartFold) newPiece(slot int, number, of uint64) *piece {
	from := store.Position{Partition: f.part.Partition, Stream: f.spool.plan.Stream}
	return &piece{
		part: f.part, slot: slot, number: number, of: of, reportFolded: f.Folded,
		folder: ingest.Folder{
			JetStream: f.JetStream,
			Changes: store.ChangeSet{
				From: from, To: from, State: &fold.State{Partition: from.Partition}, MessageCounts: make(store.MessageCounts),
			},
		},
	}
}

// takes tells whether a record of the slot is folded in the piece.
func (p *piece) takes(r record) bool {
	return r.reference || r.hash/uint64(p.part.slotCount())%p.of == p.number
}

// first tells whether the piece keeps the rows of records that are in all slots.
func (p *piece) first() bool { return p.slot == 0 && p.number == 0 }

// foldUpTo folds the next records.
func (p *piece) foldUpTo(ctx context.Context, files *files, lengths map[string]int64, upTo uint64, d store.Decisions) error {
	p.folder.Decisions = d
	p.folder.Changes.State.Corrections = d.Corrections
	reader, err := openSlot(p, files, lengths, p.at, upTo)
	if err != nil {
		return err
	}
	defer reader.close()
	clock := newAdjustedClock(d)
	for more := true; more && err == nil; {
		var items []ingest.Item
		if items, more, err = p.portion(reader, clock, d); err == nil {
			err = p.apply(ctx, items)
		}
	}
	p.at = reader.at
	return err
}

// portion reads the next items. There are no more after them if more is false.
func (p *piece) portion(reader *slotReader, clock *adjustedClock, d store.Decisions) (items []ingest.Item, more bool, err error) {
	for bytes := 0; len(items) < portionMessages && bytes < portionBytes; {
		r, err := reader.next()
		if errors.Is(err, io.EOF) {
			return items, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		bytes += len(r.Data)
		if it, folded := p.item(r, clock.at(r), d); folded {
			items = append(items, it)
		}
	}
	return items, true, nil
}

// item decodes a record. One that was a dead letter at the first application is only counted, and only once.
func (p *piece) item(r record, clock events.Time, d store.Decisions) (it ingest.Item, folded bool) {
	it = ingest.Item{StoredMessage: r.StoredMessage, Clock: clock, Reference: r.reference && !p.first()}
	if dead := d.DeadLetters[store.NewMessageID(r.Sequence, r.StoredAt)]; dead != nil {
		if it.Reference {
			return it, false
		}
		it.Reason = dead.Reason
		return it, true
	}
	var err error
	if it.Event, err = p.decoder.Decode(it.Message); err != nil {
		it.Reason = err.Error()
	}
	return it, true
}

func (p *piece) apply(ctx context.Context, items []ingest.Item) error {
	before := p.folder.Changes.MessageCounts.TotalRead()
	err := p.folder.Apply(ctx, items)
	if p.reportFolded != nil {
		p.reportFolded(p.folder.Changes.MessageCounts.TotalRead() - before)
	}
	return err
}

// adjustedClock adds a partition's clock adjustments to the clocks of records, which come in the order of the stream.
type adjustedClock struct {
	rest []fold.ClockAdjustment
	now  events.Time
}

func newAdjustedClock(d store.Decisions) *adjustedClock {
	c := new(adjustedClock)
	for sequence, at := range d.ClockAdjustments {
		c.rest = append(c.rest, fold.ClockAdjustment{Sequence: sequence, Time: at})
	}
	slices.SortFunc(c.rest, func(a, b fold.ClockAdjustment) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return c
}

func (c *adjustedClock) at(r record) events.Time { return c.upTo(r.Sequence, r.clock) }

// upTo returns the partition's clock after the messages up to a sequence.
func (c *adjustedClock) upTo(sequence uint64, clock events.Time) events.Time {
	for len(c.rest) > 0 && c.rest[0].Sequence <= sequence {
		c.now = max(c.now, c.rest[0].Time)
		c.rest = c.rest[1:]
	}
	return max(c.now, clock)
}
