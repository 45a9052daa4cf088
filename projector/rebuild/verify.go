package rebuild

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// Verify folds the stream in memory and compares the rows with the served ones, in one snapshot for each part. With systems, it
// compares only these. It writes nothing and pauses no writes. A projection that another release built is compared in the columns that
// both releases have.
func Verify(ctx context.Context, c Config, systems ...uuid.UUID) (result Comparison, err error) {
	err = withLock(ctx, c, true, func(c Config) error {
		v := &verifier{config: c, store: store.New(c.Database), collector: newCollector()}
		result, err = v.run(ctx, systems)
		return err
	})
	return result, err
}

// verifier compares the live generation with the stream.
type verifier struct {
	config           Config
	store            *store.Store
	source           *source
	catalog          store.Catalog
	partitions       int
	collector        *collector
	progress         *foldProgress
	systems          []uuid.UUID // phone systems that have rows
	hasMessageCounts bool        // false: the live generation is an earlier release's, which did not count messages
	otherDefinition  bool
}

func (v *verifier) run(ctx context.Context, systems []uuid.UUID) (result Comparison, err error) {
	source, info, err := newSource(ctx, v.config)
	if err != nil {
		return result, err
	}
	v.source = source
	if v.partitions, err = events.Partitions(info.Config); err != nil {
		return result, err
	}
	positions, err := v.readLive(ctx)
	if err != nil {
		return result, err
	}
	parts, err := v.parts(ctx, positions, systems)
	if err != nil {
		return result, err
	}
	v.progress = newFoldProgress(v.config, parts)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(v.config.Workers)
	for _, p := range parts {
		group.Go(func() error {
			if err := v.verifyPart(ctx, p); err != nil {
				return fmt.Errorf("partition %d: %w", p.target.Partition, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return result, err
	}
	return v.collector.comparison(v.catalog.Missing(), v.otherDefinition), nil
}

// readLive reads what is known of the live generation before the snapshots, and checks its positions.
func (v *verifier) readLive(ctx context.Context) (positions map[int16]store.Position, err error) {
	err = withConn(ctx, v.config.Database, func(conn *pgx.Conn) error {
		if positions, err = store.Positions(ctx, conn, liveSchema); err != nil {
			return err
		}
		if v.catalog, err = store.ReadCatalog(ctx, conn, liveSchema); err != nil {
			return err
		}
		if v.otherDefinition, err = hasOtherDefinition(ctx, conn); err != nil {
			return err
		}
		if v.systems, err = store.PhoneSystemIDs(ctx, conn, v.catalog); err != nil {
			return err
		}
		v.hasMessageCounts, err = hasMessageCounts(ctx, conn)
		return err
	})
	if err != nil {
		return nil, err
	}
	return positions, v.source.verifyPositions(ctx, positions)
}

// parts returns a part for each of the systems, or all parts. A phone system that has rows and no messages is compared with the first
// part of its partition.
func (v *verifier) parts(ctx context.Context, positions map[int16]store.Position, systems []uuid.UUID) ([]part, error) {
	var parts []part
	for _, system := range systems {
		target := positions[int16(events.Partition(system, v.partitions))]
		only := []uuid.UUID{system}
		parts = append(parts, part{number: len(parts), target: target, systems: only, compared: only})
	}
	if len(systems) > 0 {
		return parts, nil
	}
	parts, err := plan(ctx, v.config, v.source, positions)
	if err != nil {
		return nil, err
	}
	compared := make(map[uuid.UUID]bool)
	for _, p := range parts {
		for _, system := range p.compared {
			compared[system] = true
		}
	}
	for _, system := range v.systems {
		if compared[system] {
			continue
		}
		partition := int16(events.Partition(system, v.partitions))
		first := slices.IndexFunc(parts, func(p part) bool { return p.target.Partition == partition })
		parts[first].compared = append(parts[first].compared, system)
	}
	return parts, nil
}

// verifyPart folds a part up to the position of a snapshot, and compares it with the snapshot's rows. It folds most messages before it
// takes the snapshot, because a snapshot prevents the server from removing dead rows.
func (v *verifier) verifyPart(ctx context.Context, p part) error {
	f := newPartFolder(v.source, v.store, p, v.progress.of(p))
	if p.target.Clock.Now != 0 { // the partition has a position
		if err := f.foldUpTo(ctx, p.target); err != nil {
			return err
		}
	}
	return pgx.BeginTxFunc(ctx, v.config.Database, store.SnapshotOptions(), func(tx pgx.Tx) error {
		positions, err := store.Positions(ctx, tx.Conn(), liveSchema)
		if err != nil {
			return err
		}
		if err := f.foldUpTo(ctx, positions[p.target.Partition]); err != nil {
			return err
		}
		v.collector.addUnreadable(unreadableMessages(f.Changes.DeadLetters))
		if p.systems == nil && v.hasMessageCounts {
			served, err := store.ReadMessageCounts(ctx, tx.Conn(), liveSchema, p.target.Partition)
			if err != nil {
				return fmt.Errorf("message counts: %w", err)
			}
			v.collector.diffMessageCounts(p.target.Partition, f.Changes.MessageCounts, served)
		}
		systems := slices.SortedFunc(slices.Values(p.compared), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		served := func(table string) iter.Seq2[store.Row, error] {
			return store.StoredRowsOf(ctx, tx.Conn(), v.catalog, table, systems)
		}
		m := merger{collector: v.collector}
		return m.tables(store.Tables(), v.foldedRows(f.Changes.State, systems), served)
	})
}

// foldedRows are the rows of some phone systems that would be stored if a state were.
func (v *verifier) foldedRows(state *fold.State, systems []uuid.UUID) tableRows {
	selected := setOf(systems)
	return func(table string) iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			for row, err := range store.FoldedRows(state, v.catalog, table) {
				if _, ok := selected[row.System]; (ok || err != nil) && !yield(row, err) {
					return
				}
			}
		}
	}
}
