package rebuild

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"callboard/projector/replay"
	"callboard/projector/store"
	"callboard/schema"
)

//go:embed part_done.sql
var partDoneSQL string

// filler folds parts from a spool and copies their rows into a generation.
type filler struct {
	config     Config
	progress   *foldProgress
	spool      *spooler
	generation schema.Generation
	catalog    store.Catalog // of the generation
	live       map[int16]store.Position
	distrust   *distrust
	store      *store.Store
	pool       *pgxpool.Pool       // with the generation's tables on its search path
	pieces     *semaphore.Weighted // in memory, one for each worker
	read, rows atomic.Int64
}

// fill folds and copies the largest parts first, so that the workers end at about the same time.
func (f *filler) fill(ctx context.Context, parts []part) error {
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.events, a.events) })
	f.pieces = semaphore.NewWeighted(int64(f.config.Workers))
	return forParts(ctx, f.config.Workers, parts, f.fillPart)
}

// fillPart folds a part. Then one transaction copies its rows and records that it is done.
func (f *filler) fillPart(ctx context.Context, p part) (err error) {
	folded := f.spool.Fold(p.id(), replay.Folding{
		JetStream: f.config.JetStream, Catalog: f.catalog, Order: store.ReadingOrder, Memory: f.config.partMemory(), Pieces: f.pieces,
		Folded: f.progress.of(p),
	})
	defer func() { err = errors.Join(err, folded.Close()) }()
	decisions, err := f.store.Decisions(ctx, store.Position{Partition: p.target.Partition, Stream: p.target.Stream})
	if err != nil {
		return err
	}
	f.distrust.revise(&decisions)
	if live, ok := f.live[p.target.Partition]; ok {
		decisions.Corrections = decisions.Corrections.Until(live.Clock.Watermark)
	}
	if err := folded.UpTo(ctx, p.target.Sequence, decisions); err != nil {
		return err
	}
	if err := f.config.throttle.wait(ctx); err != nil {
		return err
	}
	if err := f.copyPart(ctx, p, folded); err != nil {
		return err
	}
	return f.spool.Done(p.id())
}

func (f *filler) copyPart(ctx context.Context, p part, folded *replay.PartFold) error {
	changes := folded.Changes()
	if p.target.LastMessage > changes.To.LastMessage {
		changes.To.LastMessage, changes.To.LastMessageAt = p.target.LastMessage, p.target.LastMessageAt
	}
	return pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		if err := f.config.checkLock(ctx, tx); err != nil {
			return err
		}
		rows, err := f.store.WithTx(tx).CopyRowsInto(ctx, changes, folded.Rows())
		if err != nil {
			return err
		}
		read := changes.MessageCounts.TotalRead()
		f.rows.Add(rows)
		f.read.Add(read)
		tag, err := tx.Exec(ctx, partDoneSQL, f.generation.ID, p.target.Partition, p.number, read)
		if err == nil && tag.RowsAffected() != 1 {
			err = ErrBusy // another run has done the part
		}
		return err
	})
}

// createIndexes creates the keys and indexes of a filled generation, then collects statistics for the planner.
func createIndexes(ctx context.Context, c Config, g schema.Generation, pool *pgxpool.Pool) error {
	var statements, tables []string
	err := withConn(ctx, c.Database, func(conn *pgx.Conn) (err error) {
		if statements, err = g.MissingIndexes(ctx, conn); err != nil {
			return err
		}
		tables, err = g.TablesBySize(ctx, conn)
		return err
	})
	if err != nil {
		return err
	}
	var vacuums []string
	for _, table := range tables {
		// A parallel vacuum needs shared memory, of which containers have little.
		vacuums = append(vacuums, "vacuum (analyze, parallel 0) "+table)
	}
	var done atomic.Int64
	total := int64(len(statements) + len(vacuums))
	for _, list := range [][]string{statements, vacuums} {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(c.Workers)
		for _, statement := range list {
			group.Go(func() error {
				if err := c.throttle.wait(ctx); err != nil {
					return err
				}
				if err := execMaintenance(ctx, pool, statement); err != nil {
					return err
				}
				c.Progress(Progress{Step: StepIndex, Done: done.Add(1), Total: total})
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// execMaintenance executes a statement that needs memory and time. The next run needs the index's name if this process is killed, so
// the server is asked to notice a lost client, where its operating system can.
func execMaintenance(ctx context.Context, pool *pgxpool.Pool, statement string) error {
	return withConn(ctx, pool, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "set client_connection_check_interval = '1s'")
		var refusal *pgconn.PgError
		if err != nil && !errors.As(err, &refusal) {
			return fmt.Errorf("prepare the session for an index: %w", err)
		}
		if _, err := conn.Exec(ctx, "set maintenance_work_mem = '256MB'; set lock_timeout = 0"); err != nil {
			return fmt.Errorf("prepare the session for an index: %w", err)
		}
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		return nil
	})
}
