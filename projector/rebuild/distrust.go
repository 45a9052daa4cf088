package rebuild

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

var (
	//go:embed clock_adjustments.sql
	clockAdjustmentsSQL string

	//go:embed lower_corrections.sql
	lowerCorrectionsSQL string
)

const dropClockAdjustmentSQL = "delete from control.clock_adjustment where stream = $1 and stream_created = $2 and partition = $3 and sequence = $4"

// distrust corrects times of the stream: the clock of its servers had jumped forward, and an earlier release recorded no
// caps. The methods of nil correct nothing.
type distrust struct {
	now    events.Time // by this host's clock, when the stream was read
	jumps  fold.Jumps
	stored map[uint64]events.Time // when the messages were stored at which parts end
}

// findJumps reads when the stream's messages were stored, up to the last one.
func findJumps(ctx context.Context, s *source, last uint64, parts []part) (*distrust, error) {
	d := &distrust{now: events.TimeOf(time.Now()), stored: make(map[uint64]events.Time)}
	for _, p := range parts {
		d.stored[p.target.Sequence] = 0
	}
	err := s.read(ctx, "", 0, last, func(messages []events.StoredMessage) error {
		for _, m := range messages {
			storedAt := events.TimeOf(m.StoredAt)
			d.jumps.Add(m.Sequence, storedAt)
			if _, ends := d.stored[m.Sequence]; ends {
				d.stored[m.Sequence] = storedAt
			}
		}
		return nil
	})
	return d, err
}

// maxPlausible is the latest time that is plausible.
func (d *distrust) maxPlausible() events.Time {
	if d == nil {
		return maxTime
	}
	return d.now
}

// maxTime is later than all times of streams: it begins the year 9999.
const maxTime events.Time = 253_370_764_800_000

// caps returns the caps of a partition's messages up to a sequence.
func (d *distrust) caps(upTo uint64) (caps []fold.ClockCap) {
	if d == nil {
		return nil
	}
	for _, c := range d.jumps.Caps() {
		if c.First > upTo {
			continue
		}
		if c.Last > upTo {
			c.Last, c.LastStoredAt = upTo, d.stored[upTo]
		}
		caps = append(caps, c)
	}
	return caps
}

// isPlausible tells whether the clock of a partition can have been adjusted to a time at a message. An adjustment with sequence 0 is always
// plausible: it belongs to no message, but is the least clock of the partition.
func (d *distrust) isPlausible(sequence uint64, at events.Time) bool {
	return sequence == 0 || at <= min(d.jumps.After(sequence), d.now)+fold.MaxAhead
}

// revise changes decisions as [distrust.record] will change the recorded ones: it drops the clock adjustments that are not plausible, and no
// correction is later than d.now.
func (d *distrust) revise(decisions *store.Decisions) {
	if d == nil {
		return
	}
	maps.DeleteFunc(decisions.ClockAdjustments, func(sequence uint64, at events.Time) bool { return !d.isPlausible(sequence, at) })
	for i := range decisions.Corrections {
		decisions.Corrections[i].At = min(decisions.Corrections[i].At, d.now)
	}
}

// clock returns the clock that a new generation gets at a live position. built is its clock before. Its watermark rises to the live one, but not
// above d.now.
func (d *distrust) clock(live, built fold.Clock) fold.Clock {
	if d == nil {
		return live
	}
	return fold.Clock{Now: built.Now, Watermark: max(built.Watermark, min(live.Watermark, d.now))}
}

// record records the caps, and what else a replay must know from now on.
func (d *distrust) record(ctx context.Context, tx pgx.Tx, stream store.Stream, parts []part) error {
	if d == nil {
		return nil
	}
	batch := new(pgx.Batch)
	recorded := make(map[int16]bool)
	for _, p := range parts {
		if partition := p.target.Partition; !recorded[partition] {
			recorded[partition] = true
			for _, c := range d.caps(p.target.Sequence) {
				store.QueueClockCap(batch, stream, partition, c)
			}
		}
	}
	if err := d.queueDrops(ctx, tx, batch, stream); err != nil {
		return err
	}
	batch.Queue(lowerCorrectionsSQL, stream.Name, stream.Created, d.now.Std())
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("jumps: %w", err)
	}
	return nil
}

// queueDrops queues the removal of the clock adjustments that are not plausible.
func (d *distrust) queueDrops(ctx context.Context, tx pgx.Tx, batch *pgx.Batch, stream store.Stream) error {
	rows, _ := tx.Query(ctx, clockAdjustmentsSQL, stream.Name, stream.Created)
	var partition int16
	var sequence int64
	var at time.Time
	_, err := pgx.ForEachRow(rows, []any{&partition, &sequence, &at}, func() error {
		if !d.isPlausible(uint64(sequence), events.TimeOf(at)) {
			batch.Queue(dropClockAdjustmentSQL, stream.Name, stream.Created, partition, sequence)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("clock adjustments: %w", err)
	}
	return nil
}

// messages is how many messages count as stored earlier.
func (d *distrust) messages() (n int64) {
	if d != nil {
		for _, c := range d.jumps.Caps() {
			n += int64(c.Messages)
		}
	}
	return n
}
