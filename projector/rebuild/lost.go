package rebuild

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/projector/fold"
	"callboard/projector/store"
)

const dropClockCapSQL = "delete from control.clock_cap where stream = $1 and stream_created = $2 and partition = $3 and first_sequence = $4"

var (
	//go:embed drop_lost_dead_letters.sql
	dropLostDeadLettersSQL string

	//go:embed reopen_dead_letters.sql
	reopenDeadLettersSQL string
)

// findLost finds the dead letters whose messages the stream has lost. No dead letter is added to their partitions meanwhile, because the
// projector has stopped these.
func (b *builder) findLost(ctx context.Context, s *store.Store) error {
	b.lost = nil
	stream, err := b.source.Reopen(ctx, b.config.JetStream)
	if err != nil {
		return err
	}
	for partition := range b.intact {
		if !b.intact.lost(partition) {
			continue
		}
		decisions, err := s.Decisions(ctx, store.Position{Partition: partition, Stream: b.source.History})
		if err != nil {
			return err
		}
		for id := range decisions.DeadLetters {
			held, err := holds(ctx, stream, id)
			if err != nil {
				return err
			}
			if !held {
				b.lost = append(b.lost, id)
			}
		}
	}
	return nil
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

// findLostCaps finds the clock caps of which the stream has lost messages: others with their sequences would count as stored too early. A
// stream loses its end, so a cap whose last message is there is whole.
func (b *builder) findLostCaps(ctx context.Context, s *store.Store) error {
	b.lostCaps = make(map[int16][]fold.ClockCap)
	stream, err := b.source.Reopen(ctx, b.config.JetStream)
	if err != nil {
		return err
	}
	for partition := range b.regressed {
		caps, err := s.ClockCaps(ctx, store.Position{Partition: partition, Stream: b.source.History})
		if err != nil {
			return err
		}
		for _, c := range slices.Backward(caps) {
			held, err := holds(ctx, stream, store.MessageID{Sequence: c.Last, StoredAt: c.LastStoredAt})
			if err != nil {
				return err
			}
			if held {
				break
			}
			b.lostCaps[partition] = append(b.lostCaps[partition], c)
		}
	}
	return nil
}

// reviseCaps returns the recorded caps of a partition without those that are lost, and the caps of jumps up to the position.
func (b *builder) reviseCaps(target store.Position, caps []fold.ClockCap) []fold.ClockCap {
	caps = slices.DeleteFunc(caps, func(c fold.ClockCap) bool { return slices.Contains(b.lostCaps[target.Partition], c) })
	return append(caps, b.distrust.caps(target.Sequence)...)
}

// dropLostCaps removes the clock caps of which the stream has lost messages.
func (b *builder) dropLostCaps(ctx context.Context, tx pgx.Tx) error {
	stream := b.source.History
	for partition, caps := range b.lostCaps {
		for _, c := range caps {
			if _, err := tx.Exec(ctx, dropClockCapSQL, stream.Name, stream.Created, partition, int64(c.First)); err != nil {
				return fmt.Errorf("drop the lost clock caps: %w", err)
			}
		}
	}
	return nil
}

// dropLost resolves the dead letters whose messages the stream has lost.
func (b *builder) dropLost(ctx context.Context, tx pgx.Tx) error {
	stream := b.source.History
	for _, id := range b.lost {
		if _, err := tx.Exec(ctx, dropLostDeadLettersSQL, stream.Name, stream.Created, int64(id.Sequence), id.StoredAt.Std()); err != nil {
			return fmt.Errorf("drop the lost dead letters: %w", err)
		}
	}
	return nil
}

// reopenDeadLetters opens the dead letters again whose retries the stream may have lost.
func (b *builder) reopenDeadLetters(ctx context.Context, tx pgx.Tx) error {
	stream := b.source.History
	for partition := range b.intact {
		if !b.intact.lost(partition) {
			continue
		}
		if _, err := tx.Exec(ctx, reopenDeadLettersSQL, stream.Name, stream.Created, partition); err != nil {
			return fmt.Errorf("reopen the dead letters: %w", err)
		}
	}
	return nil
}
