package rebuild

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/projector/store"
)

// check compares a generation with the live one, both as they are stored. The live one moves on meanwhile, so what differs at first
// may only be late: it is looked at again while the live partition stands still.
type check struct {
	config     Config
	follower   *follower
	partitions int
	collector  *collector
	common     store.Shape // of the live one's tables, in the columns that both have
	next       store.Shape // of the other's
	missing    []store.Column
	foreign    bool // another release built the live one
}

func (k *check) run(ctx context.Context) (result Comparison, err error) {
	var systems []uuid.UUID
	err = withConn(ctx, k.config.Database, func(conn *pgx.Conn) error {
		systems, err = k.look(ctx, conn)
		return err
	})
	if err != nil {
		return result, err
	}
	late, err := k.glance(ctx, systems)
	if err != nil {
		return result, err
	}
	for partition, places := range late {
		if err := k.lookAgain(ctx, partition, places); err != nil {
			return result, fmt.Errorf("partition %d: %w", partition, err)
		}
	}
	return k.collector.comparison(k.missing, k.foreign), nil
}

func (k *check) look(ctx context.Context, conn *pgx.Conn) ([]uuid.UUID, error) {
	served, err := store.ReadShape(ctx, conn, live)
	if err != nil {
		return nil, err
	}
	next, err := store.ReadShape(ctx, conn, k.follower.schema)
	if err != nil {
		return nil, err
	}
	if k.foreign, err = foreign(ctx, conn); err != nil {
		return nil, err
	}
	k.common, k.next, k.missing = served, next.Common(served), served.Missing()
	systems, err := store.Systems(ctx, conn, served)
	if err != nil {
		return nil, err
	}
	more, err := store.Systems(ctx, conn, next)
	if err != nil {
		return nil, err
	}
	return append(systems, more...), nil
}

// glance compares all digests, and returns the places where they differ by partition.
func (k *check) glance(ctx context.Context, systems []uuid.UUID) (map[int16][]suspect, error) {
	var should, served map[place]store.Digest
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		should, err = k.digests(ctx, k.next, systems)
		return err
	})
	group.Go(func() (err error) {
		served, err = k.digests(ctx, k.common, systems)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, d := range should {
		k.collector.counted(d.Rows)
	}
	late := make(map[int16][]suspect)
	for _, s := range suspects(should, served) {
		partition := int16(events.Partition(s.system, k.partitions))
		late[partition] = append(late[partition], s)
	}
	return late, nil
}

// digests are those of a schema's rows, read in one snapshot.
func (k *check) digests(ctx context.Context, shape store.Shape, systems []uuid.UUID) (all map[place]store.Digest, err error) {
	err = pgx.BeginTxFunc(ctx, k.config.Database, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		var rows int64
		all, err = digests(watched(store.Stored(ctx, tx.Conn(), shape, store.Tables(), systems), func() {
			if rows++; rows%10_000 == 0 {
				k.config.Progress(Progress{Step: StepCompare, Done: rows})
			}
		}))
		return err
	})
	return all, err
}

// lookAgain compares suspect places while the live partition stands still and the other one stands where it does.
func (k *check) lookAgain(ctx context.Context, partition int16, late []suspect) error {
	return pgx.BeginFunc(ctx, k.config.Database, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select from projection.position where partition = $1 for update", partition); err != nil {
			return fmt.Errorf("standstill: %w", err)
		}
		positions, err := store.Positions(ctx, tx.Conn(), live)
		if err != nil {
			return err
		}
		one := map[int16]store.Position{}
		if at, ok := positions[partition]; ok {
			one[partition] = at
		}
		if _, err := k.follower.follow(ctx, one); err != nil {
			return err
		}
		var systems []uuid.UUID
		for _, s := range late {
			if !slices.Contains(systems, s.system) {
				systems = append(systems, s.system)
			}
		}
		should, served := stored(ctx, tx.Conn(), k.next), stored(ctx, tx.Conn(), k.common)
		want, err := digests(should(store.Tables(), systems))
		if err != nil {
			return err
		}
		have, err := digests(served(store.Tables(), systems))
		if err != nil {
			return err
		}
		return k.collector.differences(suspects(want, have), should, served)
	})
}
