package audit

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/projector/store"
)

// storage stores batches of one stream.
type storage struct {
	*Writer
	opened map[time.Time]bool // days that have a partition
}

func newStorage(w *Writer) storage { return storage{w, make(map[time.Time]bool)} }

// store stores the entries of a batch, and dead letters of what can't be stored, in one transaction, in which begin
// runs first.
func (s storage) store(ctx context.Context, batch []delivery, begin func(pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	entries, err := s.openDays(ctx, entriesOf(batch))
	if err != nil {
		return err
	}

	var stored int64
	err = pgx.BeginFunc(ctx, s.config.Database, func(tx pgx.Tx) error {
		if err := begin(tx); err != nil {
			return err
		}
		if stored, err = insert(ctx, tx, entries); err != nil {
			return err
		}
		return s.insertDeadLetters(ctx, tx, batch)
	})
	if err != nil {
		return err
	}
	s.metrics.batches.Inc()
	s.metrics.stored.Add(float64(stored))
	s.noteDeadLetters(batch)
	return nil
}

//go:embed insert_dead_letter.sql
var insertDeadLetterSQL string

func (s storage) insertDeadLetters(ctx context.Context, tx pgx.Tx, batch []delivery) error {
	for _, d := range batch {
		if d.reason == "" {
			continue
		}
		if _, err := tx.Exec(ctx, insertDeadLetterSQL, int64(d.meta.Sequence.Stream), d.Subject(), store.EncodeHeader(d.Headers()), d.Data(), d.reason, d.meta.Timestamp); err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
	}
	return nil
}

func (s storage) noteDeadLetters(batch []delivery) {
	for _, d := range batch {
		if d.reason != "" {
			s.metrics.deadLetters.Inc()
			s.config.Log.Error().Uint64("sequence", d.meta.Sequence.Stream).Str("reason", d.reason).Msg("audit message became a dead letter")
		}
	}
}
