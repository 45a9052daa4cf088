package rebuild

import (
	"context"
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
	Rows       int64   `json:"rows"`     // of the phone system now
	WritePause Seconds `json:"writePauseSeconds"`
}

// Repair folds one phone system from its first event and replaces its rows in one transaction. Its partition's writes wait meanwhile;
// then the projector starts again from its position. [uuid.Nil] stands for the rows that belong to no single phone system, whose repair
// interrupts all partitions.
func Repair(ctx context.Context, c Config, system uuid.UUID) (result RepairResult, err error) {
	err = withLock(ctx, c, false, func(c Config) error {
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
		r := &repairer{system: system, folder: newPartFolder(source, store.New(c.Database), p, func(n int64) {
			result.Messages += n
			c.Progress(Progress{Step: StepFold, Done: result.Messages})
		})}
		err = withConn(ctx, c.Database, func(conn *pgx.Conn) error { return r.run(ctx, conn) })
		result.Rows, result.WritePause = r.rows, r.pause
		return err
	})
	return result, err
}

type repairer struct {
	system uuid.UUID
	folder *partFolder
	rows   int64
	pause  Seconds
}

func (r *repairer) run(ctx context.Context, conn *pgx.Conn) error {
	other, err := hasOtherDefinition(ctx, conn)
	if err != nil {
		return err
	}
	if other {
		return fmt.Errorf("the projection: %w: run 'callboard rebuild'", ErrOtherDefinition)
	}
	// Most messages are folded before the pause.
	if err := r.foldToLive(ctx, conn); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return r.replace(ctx, tx) })
}

// replace fences the partition's projector, folds the last messages and replaces the rows.
func (r *repairer) replace(ctx context.Context, tx pgx.Tx) error {
	partition := r.folder.Changes.To.Partition
	if _, err := tx.Exec(ctx, "set local idle_in_transaction_session_timeout = '15s'"); err != nil {
		return fmt.Errorf("write pause: %w", err)
	}
	tag, err := tx.Exec(ctx, "update position set epoch = epoch + 1 where partition = $1", partition)
	if err != nil {
		return fmt.Errorf("write pause: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("partition %d has no position: start a projector", partition)
	}
	if r.system == uuid.Nil {
		// The names of all phone systems change with the global classifications. Readers notice by the epoch of their partition.
		if _, err := tx.Exec(ctx, "update position set epoch = epoch + 1 where partition <> $1", partition); err != nil {
			return fmt.Errorf("write pause: %w", err)
		}
	}
	start := time.Now()
	defer func() { r.pause = since(start) }()
	if err := r.foldToLive(ctx, tx.Conn()); err != nil {
		return err
	}
	if messages := r.folder.Changes.DeadLetters; len(messages) > 0 {
		m := messages[0]
		return fmt.Errorf("message %d (%s) %w: %s", m.Sequence, m.Subject, ErrUnreadable, m.Reason)
	}
	r.rows, err = r.folder.store.WithTx(tx).ReplaceSystem(ctx, r.system, r.folder.Changes.State)
	return err
}

// foldToLive folds up to the partition's live position.
func (r *repairer) foldToLive(ctx context.Context, conn *pgx.Conn) error {
	positions, err := store.Positions(ctx, conn, liveSchema)
	if err != nil {
		return err
	}
	partition := r.folder.Changes.To.Partition
	position, ok := positions[partition]
	if ok {
		if err := r.folder.source.verifyPositions(ctx, map[int16]store.Position{partition: position}); err != nil {
			return err
		}
	}
	return r.folder.foldUpTo(ctx, position)
}
