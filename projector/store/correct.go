package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/projector/fold"
	"callboard/schema"
)

var (
	//go:embed corrections.sql
	correctionsSQL string

	//go:embed correct_calls.sql
	correctCallsSQL string

	//go:embed correct_system.sql
	correctSystemSQL string

	//go:embed next_call_system.sql
	nextCallSystemSQL string
)

// corrections reads the corrections of a partition that its watermark has not reached.
func (s *Store) corrections(ctx context.Context, p Position) (fold.Corrections, error) {
	rows, _ := s.pool.Query(ctx, correctionsSQL, p.Stream.Name, p.Stream.Created, p.Partition, timestamp(p.Clock.Watermark))
	var list fold.Corrections
	var one fold.Correction
	targets := []any{(*[16]byte)(&one.System), (*[16]byte)(&one.Call), (*instant)(&one.Since), (*instant)(&one.At)}
	_, err := pgx.ForEachRow(rows, targets, func() error {
		list = append(list, one)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("corrections: %w", err)
	}
	return list, nil
}

// sliceCalls is how many calls a transaction corrects, at most.
const sliceCalls = 10_000

// sliceTimeout limits the correction of one slice of calls. All slices together have no limit.
const sliceTimeout = 2 * time.Minute

// Correct gives stored calls the times of corrections, before the watermark of their partition reaches them. It commits often, so that many calls
// make no long transaction. Doing it again changes nothing. calls is how many rows were changed.
func (s *Store) Correct(ctx context.Context, at Position, list fold.Corrections) (calls int64, err error) {
	c := corrector{store: s, at: at}
	for len(list) > 0 {
		n := c.named(list)
		if n > 0 {
			err = c.correctCalls(ctx, list[:n])
		} else {
			n, err = 1, c.correctAll(ctx, list[0])
		}
		if err != nil {
			return c.changed, fmt.Errorf("correct: %w", err)
		}
		list = list[n:]
	}
	return c.changed, nil
}

// corrector applies corrections to the stored calls of a partition.
type corrector struct {
	store   *Store
	at      Position
	changed int64
}

// named returns how many corrections at the beginning name calls of one phone system and differ in nothing else.
func (c *corrector) named(list fold.Corrections) int {
	first := list[0]
	if first.Call == uuid.Nil {
		return 0
	}
	n := slices.IndexFunc(list, func(next fold.Correction) bool {
		return next.Call == uuid.Nil || next.System != first.System || next.Since != first.Since || next.At != first.At
	})
	if n < 0 {
		n = len(list)
	}
	return min(n, sliceCalls)
}

func (c *corrector) correctCalls(ctx context.Context, list fold.Corrections) error {
	ids := make([][16]byte, len(list))
	for i, one := range list {
		ids[i] = one.Call
	}
	_, err := c.exec(ctx, correctCallsSQL, list[0], list[0].System, ids)
	return err
}

// correctAll corrects all calls of a phone system, or of the partition.
func (c *corrector) correctAll(ctx context.Context, one fold.Correction) error {
	if one.System != uuid.Nil {
		return c.correctSystem(ctx, one, one.System)
	}
	for system := uuid.Nil; ; {
		partition, err := c.nextSystem(ctx, &system)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err == nil && partition == c.at.Partition {
			err = c.correctSystem(ctx, one, system)
		}
		if err != nil {
			return err
		}
	}
}

// nextSystem replaces a phone system by the next one that has calls, and returns its partition. The error is [pgx.ErrNoRows] after the last one.
func (c *corrector) nextSystem(ctx context.Context, system *uuid.UUID) (partition int16, err error) {
	ctx, cancel := context.WithTimeout(ctx, sliceTimeout)
	defer cancel()
	err = c.store.pool.QueryRow(ctx, nextCallSystemSQL, schema.UUID(*system)).Scan((*[16]byte)(system), &partition)
	return partition, err
}

func (c *corrector) correctSystem(ctx context.Context, one fold.Correction, system uuid.UUID) error {
	for changed := int64(sliceCalls); changed == sliceCalls; {
		var err error
		if changed, err = c.exec(ctx, correctSystemSQL, one, system, sliceCalls); err != nil {
			return err
		}
	}
	return nil
}

func (c *corrector) exec(ctx context.Context, sql string, one fold.Correction, system uuid.UUID, calls any) (changed int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, sliceTimeout)
	defer cancel()
	err = c.store.BeginFunc(ctx, func(tx *Tx) error {
		tag, err := tx.tx.Exec(ctx, sql, c.at.Partition, schema.UUID(system), calls, timestamp(one.Since), timestamp(one.At),
			c.at.Epoch, int64(c.at.Sequence))
		changed = tag.RowsAffected()
		return err
	})
	if err == nil {
		c.changed += changed
		c.store.plans.wrote(c.store.tables.callLogs.name, changed)
	}
	return changed, err
}
