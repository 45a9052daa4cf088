package rebuild

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/store"
)

// RepairResult is what a repair did.
type RepairResult struct {
	Messages   int64   `json:"messages"` // folded
	Rows       int64   `json:"rows"`     // that the phone system has now
	WritePause Seconds `json:"writePauseSeconds"`
}

// ErrUnreadable is a message that the live projection has applied and that can't be read any more: what it said would be lost.
var ErrUnreadable = errors.New("can't be read any more")

// Repair folds one phone system from its first event, and puts the rows that this gives in the place of those that are served, in one
// transaction. The projector that has the partition waits for it, and starts again from its position. [uuid.Nil] stands for what
// belongs to no single phone system.
func Repair(ctx context.Context, c Config, system uuid.UUID) (result RepairResult, err error) {
	c = c.complete()
	pool, err := c.pool(ctx, map[string]string{"search_path": live})
	if err != nil {
		return result, err
	}
	defer pool.Close()
	err = exclusively(ctx, c, false, func(c Config) error {
		source, info, err := newSource(ctx, c)
		if err != nil {
			return err
		}
		partitions, err := events.Partitions(info.Config)
		if err != nil {
			return err
		}
		p := part{systems: []uuid.UUID{system}}
		p.target.Partition = int16(events.Partition(system, partitions))
		r := &repair{system: system, folding: newFolding(source, store.New(pool), p, func(n int64) {
			result.Messages += n
			c.Progress(Progress{Step: StepFold, Done: result.Messages})
		})}
		err = withConn(ctx, pool, func(conn *pgx.Conn) error { return r.run(ctx, conn) })
		result.Rows, result.WritePause = r.rows, r.stood
		return err
	})
	return result, err
}

type repair struct {
	system  uuid.UUID
	folding *folding
	rows    int64
	stood   Seconds
}

func (r *repair) run(ctx context.Context, conn *pgx.Conn) error {
	yes, err := foreign(ctx, conn)
	if err != nil {
		return err
	}
	if yes {
		return fmt.Errorf("the projection: %w: run 'callboard rebuild'", ErrOtherDefinition)
	}
	// Most is done while the partition moves on, the rest while it stands still.
	if err := r.extend(ctx, conn); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		partition := r.folding.Changes.To.Partition
		if _, err := tx.Exec(ctx, "set local idle_in_transaction_session_timeout = '15s'"); err != nil {
			return fmt.Errorf("standstill: %w", err)
		}
		tag, err := tx.Exec(ctx, "update position set epoch = epoch + 1 where partition = $1", partition)
		if err != nil {
			return fmt.Errorf("standstill: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("partition %d has no position: no projector has been here", partition)
		}
		began := time.Now()
		defer func() { r.stood = since(began) }()
		if err := r.extend(ctx, conn); err != nil {
			return err
		}
		if letters := r.folding.Unreadable(); len(letters) > 0 {
			return fmt.Errorf("message %d (%s) %w: %s", letters[0].Sequence, letters[0].Subject, ErrUnreadable, letters[0].Reason)
		}
		r.rows, err = store.WithTx(tx).ReplaceSystem(ctx, r.system, r.folding.Changes.State)
		return err
	})
}

// extend folds on to where the live partition stands.
func (r *repair) extend(ctx context.Context, conn *pgx.Conn) error {
	positions, err := store.Positions(ctx, conn, live)
	if err != nil {
		return err
	}
	partition := r.folding.Changes.To.Partition
	at, ok := positions[partition]
	if ok {
		if err := r.folding.source.mustHold(ctx, map[int16]store.Position{partition: at}); err != nil {
			return err
		}
	}
	return r.folding.extend(ctx, at)
}
