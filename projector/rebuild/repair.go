package rebuild

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/semaphore"

	"callboard/projector/replay"
	"callboard/projector/store"
)

// RepairResult is what a repair did.
type RepairResult struct {
	Messages int64 `json:"messages"` // folded
	Rows     int64 `json:"rows"`     // of the phone system now

	ChangedCalls int64   `json:"changedCalls"` // as in [Comparison]; 0 where they keep their updatedAt
	AllCalls     bool    `json:"allCalls"`     // all calls get a later updatedAt, because the phone system is too large to be compared
	WritePause   Seconds `json:"writePauseSeconds"`
}

// Repair folds one phone system from its first event and replaces its rows in one transaction. Its partition's writes wait meanwhile;
// then the projector starts again from its position. [uuid.Nil] stands for the rows that belong to no single phone system, whose repair
// interrupts all partitions. A phone system with more than maxMessages messages is an [ErrTooLarge]; 0: there is no limit. Progress has the
// number of messages before they are read.
func Repair(ctx context.Context, c Config, system uuid.UUID, maxMessages int64) (result RepairResult, err error) {
	err = withLock(ctx, c, false, func(c Config) error {
		r := &repairer{config: c, system: system, store: store.New(c.Database)}
		err := r.run(ctx, maxMessages)
		result = r.result
		return err
	})
	return result, err
}

type repairer struct {
	config  Config
	system  uuid.UUID
	store   *store.Store
	source  *source
	part    part
	spool   *spooler
	catalog store.Catalog
	folded  *replay.PartFold
	result  RepairResult
}

func (r *repairer) run(ctx context.Context, maxMessages int64) (err error) {
	source, info, err := newSource(ctx, r.config)
	if err != nil {
		return err
	}
	r.source = source
	p, err := newPlanner(ctx, r.config, source)
	if err != nil {
		return err
	}
	if r.part, err = p.partOf(ctx, r.system); err != nil {
		return err
	}
	if n := r.part.events; maxMessages > 0 && n > maxMessages {
		return fmt.Errorf("%w: %d messages", ErrTooLarge, n)
	}
	parts := []part{r.part}
	spool, remove, err := openTemporarySpool(r.config, "callboard-repair-", source, parts, true, p.bytes(parts, int64(info.State.Bytes)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	r.spool = spool
	return asSpoolFull(withConn(ctx, r.config.Database, func(conn *pgx.Conn) error { return r.repair(ctx, conn) }))
}

func (r *repairer) repair(ctx context.Context, conn *pgx.Conn) (err error) {
	other, err := hasOtherDefinition(ctx, conn)
	if err != nil {
		return err
	}
	if other {
		return fmt.Errorf("live generation: %w: run 'callboard rebuild'", ErrOtherDefinition)
	}
	if r.catalog, err = store.ReadCatalog(ctx, conn, ""); err != nil {
		return err
	}
	r.folded = r.spool.Fold(r.part.id(), replay.Folding{
		JetStream: r.config.JetStream, Catalog: r.catalog, Order: store.ReadingOrder, Memory: r.config.partMemory(),
		Pieces: semaphore.NewWeighted(int64(r.config.Workers)),
		Folded: newFoldProgress(r.config, []part{r.part}).of(r.part),
	})
	defer func() { err = errors.Join(err, r.folded.Close()) }()
	// Most messages are folded before the pause.
	if err := r.foldToLive(ctx, conn); err != nil {
		return err
	}
	var done bool
	err = beginDurably(ctx, conn, func(tx pgx.Tx) error {
		err := r.replace(ctx, tx)
		done = err == nil
		return err
	})
	return asUnconfirmed(err, done)
}

// idleTimeout ends the write pause of a frozen process. A large phone system of which new messages came may be folded again in the pause.
func (r *repairer) idleTimeout() time.Duration {
	return 15*time.Second + time.Duration(r.part.events)*time.Millisecond
}

// replace fences the partition's projector, folds the last messages and replaces the rows.
func (r *repairer) replace(ctx context.Context, tx pgx.Tx) error {
	partition := r.part.target.Partition
	timeout := fmt.Sprintf("set local idle_in_transaction_session_timeout = '%dms'", r.idleTimeout().Milliseconds())
	if _, err := tx.Exec(ctx, timeout); err != nil {
		return fmt.Errorf("begin the write pause: %w", err)
	}
	tag, err := tx.Exec(ctx, "update position set epoch = epoch + 1 where partition = $1", partition)
	if err != nil {
		return fmt.Errorf("begin the write pause: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("partition %d has no position: start a projector", partition)
	}
	if r.system == uuid.Nil {
		// The names of all phone systems change with the global classifications. Readers notice by the epoch of their partition.
		if _, err := tx.Exec(ctx, "update position set epoch = epoch + 1 where partition <> $1", partition); err != nil {
			return fmt.Errorf("begin the write pause: %w", err)
		}
	}
	start := time.Now()
	defer func() { r.result.WritePause = since(start) }()
	if err := r.foldToLive(ctx, tx.Conn()); err != nil {
		return err
	}
	changes := r.folded.Changes()
	if messages := changes.DeadLetters; len(messages) > 0 {
		m := messages[0]
		return fmt.Errorf("message %d (%s): %w: %s", m.Sequence, m.Subject, ErrUnreadable, m.Reason)
	}
	r.result.Messages = changes.MessageCounts.TotalRead()
	correct, err := r.compare(ctx, tx.Conn())
	if err != nil {
		return err
	}
	if r.result.Rows, err = r.store.WithTx(tx).ReplaceSystemRows(ctx, partition, r.system, r.folded.Rows()); err != nil {
		return err
	}
	return correct.record(ctx, tx)
}

// shownTables decide what a report shows of a call.
func shownTables() []string {
	return []string{"call_log", "transcript", "transcript_text", "extension", "call_group", "representative"}
}

// compare returns the corrections of the calls that show other values when the rows are replaced. A phone system that doesn't fit in memory is not
// compared, and all of its calls are corrected.
func (r *repairer) compare(ctx context.Context, conn *pgx.Conn) (c corrections, err error) {
	if r.config.NoAnnounce || r.system == uuid.Nil {
		return c, nil
	}
	partition := r.part.target.Partition
	rows, ok := r.folded.RowsByKey()
	if !ok {
		r.result.AllCalls = true
		c.add(partition, &r.system, nil, 0)
		return c, nil
	}
	collector := newCollector(r.config)
	m := merger{collector: collector}
	systems := []uuid.UUID{r.system}
	served := func(table string) iter.Seq2[store.Row, error] {
		return store.StoredRowsOf(ctx, conn, r.catalog, table, systems)
	}
	if err := m.tables(shownTables(), foldedRows(rows, r.catalog, systems), served); err != nil {
		return c, err
	}
	if err := collector.calls.findReferring(ctx, conn, liveSchema); err != nil {
		return c, err
	}
	r.result.ChangedCalls, _ = collector.calls.count()
	for system, changed := range collector.calls.systems {
		c.addCalls(partition, system, changed)
	}
	return c, nil
}

// foldToLive folds up to the partition's live position.
func (r *repairer) foldToLive(ctx context.Context, conn *pgx.Conn) error {
	positions, err := store.Positions(ctx, conn, liveSchema)
	if err != nil {
		return err
	}
	partition := r.part.target.Partition
	position, ok := positions[partition]
	if ok {
		if err := r.source.verifyPositions(ctx, map[int16]store.Position{partition: position}); err != nil {
			return err
		}
	}
	position.Partition = partition
	_, err = foldTo(ctx, r.spool, r.store, r.folded, position)
	return err
}
