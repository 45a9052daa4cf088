package rebuild

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/semaphore"

	"callboard/events"
	"callboard/projector/replay"
	"callboard/projector/store"
)

// Verify folds the stream and compares the rows with the served ones, in one snapshot for each part. With systems, it compares only
// these. It writes nothing but its spool and pauses no writes. A projection that another release built is compared in the columns that
// both releases have.
func Verify(ctx context.Context, c Config, systems ...uuid.UUID) (result Comparison, err error) {
	err = withLock(ctx, c, true, func(c Config) error {
		v := &verifier{config: c, store: store.New(c.Database), collector: newCollector(c)}
		result, err = v.run(ctx, systems)
		return err
	})
	return result, err
}

// verifier compares the live generation with the stream.
type verifier struct {
	config           Config
	store            *store.Store
	planner          *planner
	spool            *spooler
	catalog          store.Catalog
	collector        *collector
	counts           *countVerifier
	progress         *foldProgress
	pieces           *semaphore.Weighted // in memory, one for each worker
	systems          []uuid.UUID         // phone systems that have rows
	hasMessageCounts bool                // false: the live generation is an earlier release's, which did not count messages
	otherDefinition  bool
}

func (v *verifier) run(ctx context.Context, systems []uuid.UUID) (result Comparison, err error) {
	source, info, err := newSource(ctx, v.config)
	if err != nil {
		return result, err
	}
	positions, err := v.readLive(ctx, source)
	if err != nil {
		return result, err
	}
	if v.planner, err = newPlanner(ctx, v.config, source); err != nil {
		return result, err
	}
	parts, err := v.parts(ctx, positions, systems)
	if err != nil {
		return result, err
	}
	spool, remove, err := openTemporarySpool(v.config, "callboard-verify-", source, parts, len(systems) > 0, v.planner.bytes(parts, int64(info.State.Bytes)))
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	v.spool = spool
	if v.hasMessageCounts && len(systems) == 0 {
		v.counts = newCountVerifier(v.collector, parts)
	}
	if err := v.compare(ctx, parts); err != nil {
		return result, asSpoolFull(err)
	}
	err = withConn(ctx, v.config.Database, func(conn *pgx.Conn) error { return v.collector.calls.findReferring(ctx, conn, liveSchema) })
	return v.collector.comparison(v.catalog.Missing(), v.otherDefinition), err
}

// compare reads the stream up to the live positions, then compares all parts.
func (v *verifier) compare(ctx context.Context, parts []part) error {
	var end uint64
	for _, p := range parts {
		if hasPosition(p) {
			end = max(end, p.target.Sequence)
		}
	}
	if err := v.spool.readClockCaps(ctx, v.store, parts, nil); err != nil {
		return err
	}
	if err := v.spool.readTo(ctx, v.config, end); err != nil {
		return err
	}
	v.progress = newFoldProgress(v.config, parts)
	v.pieces = semaphore.NewWeighted(int64(v.config.Workers))
	return forParts(ctx, v.config.Workers, parts, v.verifyPart)
}

// hasPosition tells whether the part's partition has a live position.
func hasPosition(p part) bool { return p.target.Clock.Now != 0 }

// readLive reads what is known of the live generation before the snapshots, and checks its positions.
func (v *verifier) readLive(ctx context.Context, s *source) (positions map[int16]store.Position, err error) {
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
	return positions, s.verifyPositions(ctx, positions)
}

// parts returns a part for each of the systems, or all parts. A phone system that has rows and no messages is compared with the first
// part of its partition.
func (v *verifier) parts(ctx context.Context, positions map[int16]store.Position, systems []uuid.UUID) ([]part, error) {
	if len(systems) > 0 {
		return v.partsOf(ctx, positions, systems)
	}
	parts, err := v.planner.parts(ctx, positions)
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
		partition := int16(events.Partition(system, v.planner.partitions))
		first := slices.IndexFunc(parts, func(p part) bool { return p.target.Partition == partition })
		parts[first].compared = append(parts[first].compared, system)
	}
	return parts, nil
}

func (v *verifier) partsOf(ctx context.Context, positions map[int16]store.Position, systems []uuid.UUID) (parts []part, err error) {
	for i, system := range systems {
		if slices.Contains(systems[:i], system) {
			continue
		}
		p, err := v.planner.partOf(ctx, system)
		if err != nil {
			return nil, err
		}
		p.number, p.compared = i, p.systems
		if target, ok := positions[p.target.Partition]; ok {
			p.target = target
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// verifyPart folds a part up to the position of a snapshot, and compares it with the snapshot's rows. It folds most messages before it
// takes the snapshot, because a snapshot prevents the server from removing dead rows. A part with slots can't be folded further, so all of
// it is folded in the snapshot.
func (v *verifier) verifyPart(ctx context.Context, p part) (err error) {
	f := v.spool.Fold(p.id(), replay.Folding{
		JetStream: v.config.JetStream, Catalog: v.catalog, Order: store.KeyOrder, Memory: v.config.partMemory(), Pieces: v.pieces,
		Folded: v.progress.of(p),
	})
	defer func() { err = errors.Join(err, f.Close()) }()
	if hasPosition(p) && p.slots <= 1 {
		if _, err := foldTo(ctx, v.spool, v.store, f, p.target); err != nil {
			return err
		}
	}
	return pgx.BeginTxFunc(ctx, v.config.Database, store.SnapshotOptions(), func(tx pgx.Tx) error {
		positions, err := store.Positions(ctx, tx.Conn(), liveSchema)
		if err != nil {
			return err
		}
		at := positions[p.target.Partition]
		at.Partition = p.target.Partition
		pending, err := foldTo(ctx, v.spool, v.store, f, at)
		if err != nil {
			return err
		}
		v.collector.addUnreadable(unreadableMessages(f.Changes().DeadLetters))
		if err := v.counts.add(ctx, tx.Conn(), at, f.Changes().MessageCounts); err != nil {
			return err
		}
		systems := slices.SortedFunc(slices.Values(p.compared), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		served := func(table string) iter.Seq2[store.Row, error] {
			return store.StoredRowsOf(ctx, tx.Conn(), v.catalog, table, systems)
		}
		m := merger{collector: v.collector, pending: pending}
		return m.tables(v.catalog.Tables(), foldedRows(f.Rows(), v.catalog, systems), served)
	})
}

// foldedRows are the rows of some phone systems.
func foldedRows(rows store.TableRows, c store.Catalog, systems []uuid.UUID) tableRows {
	selected := make(map[uuid.UUID]bool)
	for _, system := range systems {
		selected[system] = true
	}
	return func(table string) iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			for row, err := range store.DecodedRows(rows(table), c, table) {
				if (selected[row.System] || err != nil) && !yield(row, err) {
					return
				}
			}
		}
	}
}
