package rebuild

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/schema"
)

// RepairResult is what a repair did.
type RepairResult struct {
	Messages   int64      `json:"messages"` // of the phone system
	Rows       int64      `json:"rows"`     // of the phone system now
	WritePause Seconds    `json:"writePauseSeconds"`
	Comparison Comparison `json:"comparison"` // of the replaced rows with those now
}

// Repair builds the rows of one phone system from the stream and replaces them in one transaction. Its partition's
// writes wait meanwhile; then the projector starts again from its position. [uuid.Nil] stands for the rows that belong
// to no single phone system, whose repair interrupts all partitions.
func Repair(ctx context.Context, c Config, system uuid.UUID) (result RepairResult, err error) {
	err = withLock(ctx, c, func(c Config) error {
		r := &repairer{verifier: verifier{config: c, system: uuid.NullUUID{UUID: system, Valid: true}}}
		if err := r.checkDefinition(ctx); err != nil {
			return err
		}
		err := r.build(ctx, func() error { return r.repair(ctx) })
		result = r.result
		return err
	})
	return result, err
}

type repairer struct {
	verifier
	result RepairResult
}

func (r *repairer) checkDefinition(ctx context.Context) error {
	return withConn(ctx, r.config.Database, func(conn *pgx.Conn) error {
		_, other, err := liveGeneration(ctx, conn)
		if err == nil && other {
			return fmt.Errorf("live generation: %w: run 'callboard rebuild'", ErrOtherDefinition)
		}
		return err
	})
}

func (r *repairer) repair(ctx context.Context) error {
	var done bool
	pause, err := r.loader.pauseWrites(ctx, r.fence, func(tx pgx.Tx) error {
		err := r.replace(ctx, tx)
		done = err == nil
		return err
	})
	r.result.Messages, r.result.WritePause = r.loader.messages, Seconds(pause.Seconds())
	return asUnconfirmed(err, done)
}

// repairTimeout ends the write pause of a frozen process.
const repairTimeout = "15s"

// fence fences the partition's projector. It does not wait for long for a commit, in case the projector hangs. Readers
// notice by the epoch of their partition that names have changed.
func (r *repairer) fence(ctx context.Context, tx pgx.Tx) error {
	partition := r.source.partition(r.system.UUID)
	statements := []string{
		fmt.Sprintf("set local idle_in_transaction_session_timeout = '%s'", repairTimeout),
		"set local lock_timeout = '2s'",
		fmt.Sprintf("update projection.position set epoch = epoch + 1 where partition = %d", partition),
	}

	// The repair of rows that belong to no single phone system interrupts all partitions.
	if r.system.UUID == uuid.Nil {
		statements = append(statements,
			fmt.Sprintf("update projection.position set epoch = epoch + 1 where partition <> %d", partition))
	}

	for _, statement := range append(statements, "set local lock_timeout = 0") {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("begin the write pause: %w", err)
		}
	}
	return nil
}

// replace replaces the rows by those that were built. Where reports show other values then, the calls get a later
// updatedAt.
func (r *repairer) replace(ctx context.Context, tx pgx.Tx) error {
	// A repair must not lose the content of a message that was applied once.
	if messages := r.loader.unreadable; len(messages) > 0 {
		m := messages[0]
		return fmt.Errorf("message %d (%s): %w: %s", m.Sequence, m.Subject, ErrUnreadable, m.Reason)
	}

	c := r.comparer()
	if err := c.compare(ctx, tx.Conn()); err != nil {
		return err
	}

	if missing := c.result.MissingColumns; len(missing) > 0 {
		return fmt.Errorf("the live projection has no %s: its tables were altered: run 'callboard rebuild'",
			strings.Join(missing, ", "))
	}
	r.result.Comparison, r.result.Rows = c.result, c.result.Rows

	// The corrections change the built rows, so they come before these rows are copied.
	if slices.Contains(c.changed, r.system.UUID) {
		if err := r.correct(ctx, tx); err != nil {
			return err
		}
	}

	tables, err := c.tables(ctx, tx.Conn())
	if err != nil {
		return err
	}

	for _, t := range tables {
		where, arguments := c.where(t)
		columns := strings.Join(t.Columns, ", ")
		if _, err := tx.Exec(ctx, fmt.Sprintf("delete from %s.%s where %s", liveSchema, t.Name, where), arguments...); err != nil {
			return fmt.Errorf("delete from %s: %w", t.Name, err)
		}

		insert := fmt.Sprintf("insert into %s.%s (%s) select %[3]s from %s.%[2]s where %[5]s", liveSchema, t.Name, columns,
			schema.Verification, where)
		if _, err := tx.Exec(ctx, insert, arguments...); err != nil {
			return fmt.Errorf("insert into %s: %w", t.Name, err)
		}
	}
	return nil
}

// correct records that the phone system's calls get a time right after the watermark, and gives it to the rows that
// were built.
func (r *repairer) correct(ctx context.Context, tx pgx.Tx) error {
	partition := r.source.partition(r.system.UUID)
	var watermark time.Time
	if err := tx.QueryRow(ctx, "select watermark from projection.position where partition = $1", partition).Scan(&watermark); err != nil {
		return fmt.Errorf("watermark: %w", err)
	}

	// A client may have read everything up to the watermark.
	at := events.TimeOf(watermark) + 1
	_, err := tx.Exec(ctx, "update "+schema.Verification+".call_log set updated_at = $1 "+
		"where system_id = $2 and partition = $3 and updated_at < $1",
		at.Std(), schema.UUID(r.system.UUID), partition)
	if err != nil {
		return fmt.Errorf("correct the calls: %w", err)
	}

	return recordCorrection(ctx, tx, r.source, r.system.UUID, at)
}
