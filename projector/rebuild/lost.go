package rebuild

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/projector/fold"
	"callboard/projector/store"
)

const dropCapSQL = "delete from control.clock_adjustment where stream = $1 and partition = $2 and capped and " +
	"first_sequence = $3"

var (
	//go:embed reopen_dead_letters.sql
	reopenDeadLettersSQL string
)

// lost is what is on record about messages that the stream has lost. The projector has stopped their partitions, so
// nothing is added.
type lost struct {
	regressed map[int16]store.Position // live positions of messages that the stream has lost
	caps      map[int16][]fold.ClockAdjustment
}

// findLost finds what the stream has lost of some partitions.
func findLost(ctx context.Context, s *source, db *store.Store, regressed map[int16]store.Position) (l lost, err error) {
	l = lost{regressed: regressed, caps: make(map[int16][]fold.ClockAdjustment)}
	for partition := range regressed {
		decisions, err := db.Decisions(ctx, store.Position{Partition: partition, Stream: s.ID})
		if err != nil {
			return l, err
		}
		if l.caps[partition], err = lostCaps(ctx, s, decisions); err != nil {
			return l, err
		}
	}
	return l, nil
}

// lostCaps returns the caps of messages that the stream has lost. Other messages with their sequences would count as
// stored too early. A stream loses its end, so a cap whose last message is there is whole, and so are those before.
func lostCaps(ctx context.Context, s *source, d store.Decisions) (caps []fold.ClockAdjustment, err error) {
	for _, c := range slices.Backward(d.ClockAdjustments.List()) {
		if !c.Capped {
			continue
		}

		held, err := holds(ctx, s.Stream, store.MessageID{Sequence: c.Last, StoredAt: c.LastStoredAt})
		if err != nil || held {
			return caps, err
		}
		caps = append(caps, c)
	}
	return caps, nil
}

// holds tells whether a stream still has a message.
func holds(ctx context.Context, stream jetstream.Stream, id store.MessageID) (bool, error) {
	message, err := stream.GetMsg(ctx, id.Sequence)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("message %d: %w", id.Sequence, err)
	}
	return store.NewMessageID(id.Sequence, message.Time) == id, nil
}

// forget takes the lost caps out of the decisions about a partition.
func (l *lost) forget(partition int16, d *store.Decisions) {
	if caps := l.caps[partition]; len(caps) > 0 {
		lost := func(a fold.ClockAdjustment) bool { return slices.Contains(caps, a) }
		d.ClockAdjustments = fold.NewClockAdjustments(slices.DeleteFunc(d.ClockAdjustments.List(), lost))
	}
}

// drop removes the lost caps. Dead letters whose messages or retries may be lost are open again: another retry of one
// that was applied is stale.
func (l *lost) drop(ctx context.Context, tx pgx.Tx, stream uuid.UUID) error {
	for partition := range l.regressed {
		if _, err := tx.Exec(ctx, reopenDeadLettersSQL, stream, partition); err != nil {
			return fmt.Errorf("reopen the dead letters: %w", err)
		}
	}

	for partition, caps := range l.caps {
		for _, c := range caps {
			if _, err := tx.Exec(ctx, dropCapSQL, stream, partition, int64(c.First)); err != nil {
				return fmt.Errorf("drop the lost clock caps: %w", err)
			}
		}
	}
	return nil
}
