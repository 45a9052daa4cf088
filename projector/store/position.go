package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/fold"
)

// Stream is the identity of a JetStream stream: one deleted and created again is another stream, whatever its name.
type Stream struct {
	Name    string
	Created time.Time // to the microsecond, as PostgreSQL keeps it
}

// Position is where a partition stands: every message of the partition up to Sequence is in the tables.
type Position struct {
	Partition int16
	Stream    Stream
	Sequence  uint64
	Epoch     int64
	Clock     fold.Clock
}

var (
	//go:embed claim.sql
	claimSQL string

	//go:embed advance.sql
	advanceSQL string

	//go:embed lifts.sql
	liftsSQL string
)

// ErrIdentity is a partition whose rows come from another stream than the one at hand.
var ErrIdentity = errors.New("the projection was built from another stream")

// Claim takes a partition over: the epoch rises, and whoever held it can commit no more. A partition never seen starts before
// the stream's first message. The error is [ErrIdentity] where the position is of another stream.
func (s *Store) Claim(ctx context.Context, stream Stream, partition int16) (Position, error) {
	var p Position
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		row := tx.QueryRow(ctx, claimSQL, partition, stream.Name, stream.Created)
		err := row.Scan(&p.Partition, &p.Stream.Name, &p.Stream.Created, &p.Sequence, &p.Epoch,
			(*instant)(&p.Clock.Now), (*instant)(&p.Clock.Watermark))
		if err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		if p.Stream.Name != stream.Name || !p.Stream.Created.Equal(stream.Created) {
			return ErrIdentity
		}
		return nil
	})
	return p, err
}

// Lifts are the partition's recorded clock lifts above its position: none live, those of the first time in a replay.
func (s *Store) Lifts(ctx context.Context, p Position) (map[uint64]events.Time, error) {
	rows, err := s.pool.Query(ctx, liftsSQL, p.Stream.Name, p.Stream.Created, p.Partition, int64(p.Sequence))
	if err != nil {
		return nil, fmt.Errorf("lifts: %w", err)
	}
	lifts := make(map[uint64]events.Time)
	var sequence int64
	var at events.Time
	_, err = pgx.ForEachRow(rows, []any{&sequence, (*instant)(&at)}, func() error {
		lifts[uint64(sequence)] = at
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("lifts: %w", err)
	}
	return lifts, nil
}

// Advance moves the partition's position and watermark without any rows.
func (s *Store) Advance(ctx context.Context, from, to Position) error {
	return s.Batch(ctx, func(tx *Tx) error { return tx.advance(ctx, from, to) })
}

func (tx *Tx) advance(ctx context.Context, from, to Position) error {
	tag, err := tx.tx.Exec(ctx, advanceSQL, from.Partition, from.Epoch, int64(from.Sequence),
		int64(to.Sequence), timestamp(to.Clock.Now), timestamp(to.Clock.Watermark))
	if err != nil {
		return fmt.Errorf("position: %w", err)
	}
	if tag.RowsAffected() != 1 {
		return ErrFenced
	}
	return nil
}
