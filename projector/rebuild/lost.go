package rebuild

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/projector/store"
)

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
	stream, err := b.config.JetStream.Stream(ctx, b.source.identity.Name)
	if err != nil {
		return fmt.Errorf("stream %s: %w", b.source.identity.Name, err)
	}
	for partition := range b.intact {
		if !b.intact.lost(partition) {
			continue
		}
		decisions, err := s.Decisions(ctx, store.Position{Partition: partition, Stream: b.source.identity})
		if err != nil {
			return err
		}
		for id := range decisions.DeadLetters {
			message, err := stream.GetMsg(ctx, id.Sequence)
			switch {
			case errors.Is(err, jetstream.ErrMsgNotFound):
			case err != nil:
				return fmt.Errorf("message %d: %w", id.Sequence, err)
			case store.NewMessageID(id.Sequence, message.Time) == id:
				continue
			}
			b.lost = append(b.lost, id)
		}
	}
	return nil
}

// dropLost resolves the dead letters whose messages the stream has lost.
func (b *builder) dropLost(ctx context.Context, tx pgx.Tx) error {
	stream := b.source.identity
	for _, id := range b.lost {
		if _, err := tx.Exec(ctx, dropLostDeadLettersSQL, stream.Name, stream.Created, int64(id.Sequence), id.StoredAt.Std()); err != nil {
			return fmt.Errorf("lost dead letters: %w", err)
		}
	}
	return nil
}

// reopenDeadLetters opens the dead letters again whose retries the stream may have lost.
func (b *builder) reopenDeadLetters(ctx context.Context, tx pgx.Tx) error {
	stream := b.source.identity
	for partition := range b.intact {
		if !b.intact.lost(partition) {
			continue
		}
		if _, err := tx.Exec(ctx, reopenDeadLettersSQL, stream.Name, stream.Created, partition); err != nil {
			return fmt.Errorf("dead letters: %w", err)
		}
	}
	return nil
}
