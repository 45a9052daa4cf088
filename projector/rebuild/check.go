package rebuild

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"callboard/projector/store"
	"callboard/schema"
)

//go:embed unreadable.sql
var unreadableSQL string

// check compares a generation with the live one, both as they are stored. The live one stands still only until there is a snapshot of
// both, in which they stand at the same positions.
type check struct {
	config      Config
	follower    *follower
	generation  schema.Generation
	partitions  int
	collector   *collector
	next, live  pgx.Tx // in the same snapshot
	nextShape   store.Catalog
	servedShape store.Catalog
	standstill  Seconds
}

func (k *check) run(ctx context.Context) (result Comparison, err error) {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, k.config.Database, options, func(next pgx.Tx) error {
		return pgx.BeginTxFunc(ctx, k.config.Database, options, func(live pgx.Tx) error {
			k.next, k.live = next, live
			result, err = k.compare(ctx)
			return err
		})
	})
	return result, err
}

func (k *check) compare(ctx context.Context) (result Comparison, err error) {
	stood, err := standstill(ctx, k.config.Database, k.follower, func(pgx.Tx) error { return k.look(ctx) })
	if err != nil {
		return result, err
	}
	k.standstill = Seconds(stood.Seconds())
	foreign, err := foreign(ctx, k.live.Conn())
	if err != nil {
		return result, err
	}
	missing := k.servedShape.Missing()
	k.nextShape = k.nextShape.Intersect(k.servedShape)
	systems, err := k.systems(ctx)
	if err != nil {
		return result, err
	}
	should, served := stored(ctx, k.next.Conn(), k.nextShape), stored(ctx, k.live.Conn(), k.servedShape)
	want, have, err := k.digests(should, served, systems)
	if err != nil {
		return result, err
	}
	for _, d := range want {
		k.collector.counted(d.Rows)
	}
	if err := k.collector.differences(suspects(want, have), should, served); err != nil {
		return result, err
	}
	if err := k.ledgers(ctx); err != nil {
		return result, fmt.Errorf("ledger: %w", err)
	}
	if err := k.letters(ctx); err != nil {
		return result, err
	}
	return k.collector.comparison(missing, foreign), nil
}

// letters notes what could be read once. An earlier run may have found it, so it is what is on record that counts.
func (k *check) letters(ctx context.Context) error {
	rows, err := k.live.Query(ctx, unreadableSQL, k.generation.ID)
	if err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	letters, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l store.DeadLetter, err error) {
		err = row.Scan(&l.Sequence, &l.Subject, &l.Reason)
		return l, err
	})
	if err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	k.collector.unreadable(letters)
	return nil
}

// look takes the snapshots, by reading what the tables are like.
func (k *check) look(ctx context.Context) (err error) {
	if k.nextShape, err = store.ReadCatalog(ctx, k.next.Conn(), k.follower.schema); err != nil {
		return fmt.Errorf("generation: %w", err)
	}
	k.servedShape, err = store.ReadCatalog(ctx, k.live.Conn(), live)
	return err
}

// systems are those that have rows in either.
func (k *check) systems(ctx context.Context) ([]uuid.UUID, error) {
	systems, err := store.PhoneSystemIDs(ctx, k.next.Conn(), k.nextShape)
	if err != nil {
		return nil, err
	}
	more, err := store.PhoneSystemIDs(ctx, k.live.Conn(), k.servedShape)
	return append(systems, more...), err
}

// digests reads both sides whole, at the same time.
func (k *check) digests(should, served side, systems []uuid.UUID) (want, have map[place]store.Digest, err error) {
	var group errgroup.Group
	group.Go(func() (err error) {
		var rows int64
		want, err = digests(watched(should(store.Tables(), systems), func() {
			if rows++; rows%10_000 == 0 {
				k.config.Progress(Progress{Step: StepCompare, Done: rows})
			}
		}))
		return err
	})
	group.Go(func() (err error) {
		have, err = digests(served(store.Tables(), systems))
		return err
	})
	return want, have, group.Wait()
}
