package rebuild

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/projector/store"
)

// Verify folds the stream in memory and compares the rows that this gives with those that are served, as one snapshot for each part
// has them. With systems, only these are looked at. It writes nothing and stops nobody. What another release built is compared in the
// columns that both have; Missing says which it has not.
func Verify(ctx context.Context, c Config, systems ...uuid.UUID) (result Comparison, err error) {
	c = c.complete()
	pool, err := c.pool(ctx, map[string]string{"search_path": live})
	if err != nil {
		return result, err
	}
	defer pool.Close()
	err = exclusively(ctx, c, true, func(c Config) error {
		v := &verification{config: c, pool: pool, store: store.New(pool), collector: newCollector(c.Memory / int64(c.Workers))}
		result, err = v.run(ctx, systems)
		return err
	})
	return result, err
}

// verification compares the live generation with the stream.
type verification struct {
	config     Config
	pool       *pgxpool.Pool
	store      *store.Store
	source     *source
	shape      store.Catalog
	partitions int
	collector  *collector
	progress   *progress
	rowed      []uuid.UUID // phone systems that have rows
	counted    bool        // it has a ledger; an earlier release's has none
	foreign    bool        // another release built it
}

func (v *verification) run(ctx context.Context, systems []uuid.UUID) (result Comparison, err error) {
	source, info, err := newSource(ctx, v.config)
	if err != nil {
		return result, err
	}
	v.source = source
	if v.partitions, err = events.Partitions(info.Config); err != nil {
		return result, err
	}
	positions, err := v.look(ctx)
	if err != nil {
		return result, err
	}
	parts, err := v.parts(ctx, positions, systems)
	if err != nil {
		return result, err
	}
	v.progress = newProgress(v.config, parts)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(v.config.Workers)
	for _, p := range parts {
		group.Go(func() error {
			if err := v.part(ctx, p); err != nil {
				return fmt.Errorf("partition %d: %w", p.target.Partition, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return result, err
	}
	return v.collector.comparison(v.shape.Missing(), v.foreign), nil
}

// look reads where the live generation stands, what its tables are like and whose rows they have.
func (v *verification) look(ctx context.Context) (positions map[int16]store.Position, err error) {
	err = withConn(ctx, v.pool, func(conn *pgx.Conn) error {
		if positions, err = store.Positions(ctx, conn, live); err != nil {
			return err
		}
		if v.shape, err = store.ReadCatalog(ctx, conn, live); err != nil {
			return err
		}
		if v.foreign, err = foreign(ctx, conn); err != nil {
			return err
		}
		if v.rowed, err = store.PhoneSystemIDs(ctx, conn, v.shape); err != nil {
			return err
		}
		return conn.QueryRow(ctx, "select to_regclass($1) is not null", live+"."+ledgerTable).Scan(&v.counted)
	})
	if err != nil {
		return nil, err
	}
	return positions, v.source.mustHold(ctx, positions)
}

// parts are what is folded together. Rows of phone systems that the stream doesn't know go with the first part of their partition.
func (v *verification) parts(ctx context.Context, positions map[int16]store.Position, systems []uuid.UUID) ([]part, error) {
	var parts []part
	for _, system := range systems {
		target := positions[int16(events.Partition(system, v.partitions))]
		only := []uuid.UUID{system}
		parts = append(parts, part{number: len(parts), target: target, systems: only, about: only})
	}
	if len(systems) > 0 {
		return parts, nil
	}
	parts, err := plan(ctx, v.config, v.source, positions)
	if err != nil {
		return nil, err
	}
	known := make(map[uuid.UUID]bool)
	for _, p := range parts {
		for _, system := range p.about {
			known[system] = true
		}
	}
	for _, system := range v.rowed {
		if known[system] {
			continue
		}
		partition := int16(events.Partition(system, v.partitions))
		first := slices.IndexFunc(parts, func(p part) bool { return p.target.Partition == partition })
		parts[first].about = append(parts[first].about, system)
	}
	return parts, nil
}

// part folds a part up to where a snapshot stands, and compares it with the snapshot's rows. Most is folded before there is one: it
// keeps the server from cleaning up.
func (v *verification) part(ctx context.Context, p part) error {
	f := newFolding(v.source, v.store, p, v.progress.of(p))
	if p.target.Clock.Now != 0 { // it has a position
		if err := f.extend(ctx, p.target); err != nil {
			return err
		}
	}
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, v.pool, options, func(tx pgx.Tx) error {
		positions, err := store.Positions(ctx, tx.Conn(), live)
		if err != nil {
			return err
		}
		if err := f.extend(ctx, positions[p.target.Partition]); err != nil {
			return err
		}
		v.collector.unreadable(f.Unreadable())
		if p.systems == nil {
			if err := v.ledger(ctx, tx, f.Changes); err != nil {
				return err
			}
		}
		return v.compare(folded(f.Changes.State, v.shape), stored(ctx, tx.Conn(), v.shape), p.about)
	})
}

func (v *verification) compare(should, served side, systems []uuid.UUID) error {
	want, err := digests(should(store.Tables(), systems))
	if err != nil {
		return err
	}
	for _, d := range want {
		v.collector.counted(d.Rows)
	}
	have, err := digests(served(store.Tables(), systems))
	if err != nil {
		return err
	}
	return v.collector.differences(suspects(want, have), should, served)
}
