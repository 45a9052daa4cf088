package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed place.sql
var placeSQL string

// Within is a transaction that somebody else has begun, with the projection's tables on its search path.
func WithTx(tx pgx.Tx) *Tx { return &Tx{tx: tx} }

// Seed writes what was folded from nothing, some phone systems of a partition, into tables that have no row of theirs, and where
// that brings the partition. It returns how many rows.
func (tx *Tx) CopyInto(ctx context.Context, c ChangeSet) (rows int64, err error) {
	if rows, err = CopyState(ctx, tx.tx.Conn(), c.State); err != nil {
		return 0, err
	}
	w := new(writing)
	w.messageCounts(c.To.Partition, c.MessageCounts)
	w.deadLetters(c)
	w.place(c.To)
	if err := tx.tx.SendBatch(ctx, &w.batch).Close(); err != nil {
		return 0, fmt.Errorf("write: %w", err)
	}
	return rows, nil
}

// Place writes where a partition stands that has no position yet.
func (s *Store) InsertPosition(ctx context.Context, p Position) error {
	return s.BeginFunc(ctx, func(tx *Tx) error {
		w := new(writing)
		w.place(p)
		if err := tx.tx.SendBatch(ctx, &w.batch).Close(); err != nil {
			return fmt.Errorf("position: %w", err)
		}
		return nil
	})
}

func (w *writing) place(p Position) {
	w.batch.Queue(placeSQL, p.Partition, p.Stream.Name, p.Stream.Created, int64(p.Sequence),
		timestamp(p.Clock.Now), timestamp(p.Clock.Watermark), p.RetrySeq, int64(p.LastMessage), timestamp(p.LastMessageAt))
}
