package rebuild

import (
	"context"
	_ "embed"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"callboard/projector/store"
	"callboard/schema"
)

//go:embed lost.sql
var lostSQL string

// filling puts parts into a generation.
type filling struct {
	config     Config
	progress   *progress
	source     *source
	generation schema.Generation
	followed   map[int16]bool // false: the live position isn't one of this stream's, which has lost messages
	pool       *pgxpool.Pool  // with the generation's tables on its search path
	read, rows atomic.Int64

	mu   sync.Mutex          // guards what follows
	lost []UnreadableMessage // retries of dead letters that can't be read any more
}

// fill folds and copies parts, some at a time.
func (f *filling) fill(ctx context.Context, parts []part) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(f.config.Workers)
	for _, p := range parts {
		group.Go(func() error {
			if err := f.part(ctx, p); err != nil {
				return fmt.Errorf("partition %d: %w", p.target.Partition, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (f *filling) part(ctx context.Context, p part) error {
	folding := newFolding(f.source, store.New(f.pool), p, f.progress.of(p))
	if err := folding.extend(ctx, p.target); err != nil {
		return err
	}
	f.mu.Lock()
	f.lost = append(f.lost, letters(folding.FailedRetries)...)
	f.mu.Unlock()
	if err := f.config.throttle.wait(ctx); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		rows, err := store.WithTx(tx).CopyInto(ctx, folding.Changes)
		if err != nil {
			return err
		}
		if err := f.forget(ctx, tx, folding); err != nil {
			return err
		}
		f.rows.Add(rows)
		f.read.Add(folding.Changes.MessageCounts.TotalRead())
		tag, err := tx.Exec(ctx, doneSQL, f.generation.ID, p.target.Partition, p.number, folding.Changes.MessageCounts.TotalRead())
		if err == nil && tag.RowsAffected() != 1 {
			err = ErrBusy // it was done meanwhile
		}
		return err
	})
}

// forget drops the dead letters of a partition whose stream has lost its end, as far as it has lost them. Nobody adds any meanwhile: its
// projector has stopped.
func (f *filling) forget(ctx context.Context, tx pgx.Tx, folding *folding) error {
	to := folding.Changes.To
	if followed, known := f.followed[to.Partition]; followed || !known {
		return nil
	}
	for _, stamp := range folding.Reader.UnseenDeadLetters() {
		if _, err := tx.Exec(ctx, lostSQL, to.Stream.Name, to.Stream.Created, int64(stamp.Sequence), stamp.StoredAt.Std()); err != nil {
			return fmt.Errorf("lost dead letters: %w", err)
		}
	}
	return nil
}
