package store

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/schema"
)

// Stream is the identity of a JetStream stream: one deleted and created again is another stream, whatever its name.
type Stream struct {
	Name    string
	Created time.Time // to the microsecond, as PostgreSQL keeps it
}

// Same tells whether the two are one stream.
func (s Stream) Same(other Stream) bool {
	return s.Name == other.Name && s.Created.Equal(other.Created)
}

// Position is where a partition stands: every message of the partition up to Sequence is in the tables.
type Position struct {
	Partition     int16
	Stream        Stream
	Sequence      uint64
	Epoch         int64
	RetrySeq      int64       // of the last retry of a dead letter that is in the tables
	LastMessage   uint64      // the last one up to Sequence that is known, of whatever partition; 0: none
	LastMessageAt events.Time // when the stream stored it
	Clock         fold.Clock
}

var (
	//go:embed claim.sql
	claimSQL string

	//go:embed advance.sql
	advanceSQL string

	//go:embed positions.sql
	positionsSQL string
)

// What a claim can be refused for.
var (
	// ErrIdentity is a partition whose rows come from another stream than the one at hand.
	ErrStreamReplaced = errors.New("the projection was built from another stream")

	// ErrDefinition is a projection whose tables are another release's, or were folded by other rules.
	ErrDefinitionMismatch = errors.New("the projection was built by another release")

	// ErrMigration is a database in which this release's migrations haven't run.
	ErrNotMigrated = schema.ErrNotMigrated
)

// Claim takes a partition over: the epoch rises, and whoever held it can commit no more. A partition never seen starts before
// the stream's first message. The error is [ErrIdentity] where the position is of another stream, [ErrDefinition] where the tables
// are not this release's.
func (s *Store) Claim(ctx context.Context, stream Stream, partition int16) (Position, error) {
	var p Position
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := mine(ctx, tx); err != nil {
			return err
		}
		row := tx.QueryRow(ctx, claimSQL, partition, stream.Name, stream.Created)
		err := row.Scan(&p.Partition, &p.Stream.Name, &p.Stream.Created, &p.Sequence, &p.Epoch, &p.RetrySeq,
			&p.LastMessage, (*instant)(&p.LastMessageAt), (*instant)(&p.Clock.Now), (*instant)(&p.Clock.Watermark))
		if err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		if !p.Stream.Same(stream) {
			return ErrStreamReplaced
		}
		// Another generation may have come while the claim waited.
		return mine(ctx, tx)
	})
	return p, err
}

// Positions are where the partitions of a generation stand, in the schema at hand.
func Positions(ctx context.Context, conn *pgx.Conn, schema string) (map[int16]Position, error) {
	rows, err := conn.Query(ctx, fmt.Sprintf(positionsSQL, pgx.Identifier{schema}.Sanitize()))
	if err != nil {
		return nil, fmt.Errorf("positions: %w", err)
	}
	all := make(map[int16]Position)
	var p Position
	into := []any{
		&p.Partition, &p.Stream.Name, &p.Stream.Created, &p.Sequence, &p.Epoch, &p.RetrySeq, &p.LastMessage, (*instant)(&p.LastMessageAt),
		(*instant)(&p.Clock.Now), (*instant)(&p.Clock.Watermark),
	}
	_, err = pgx.ForEachRow(rows, into, func() error {
		all[p.Partition] = p
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("positions: %w", err)
	}
	return all, nil
}

// mine tells whether the tables are this release's.
func mine(ctx context.Context, tx pgx.Tx) error {
	var definition []byte
	err := tx.QueryRow(ctx, "select definition from generation").Scan(&definition)
	var refusal *pgconn.PgError
	switch {
	case errors.As(err, &refusal) && refusal.Code == pgerrcode.UndefinedTable:
		return ErrDefinitionMismatch
	case err != nil:
		return fmt.Errorf("generation: %w", err)
	case !bytes.Equal(definition, schema.Definition()):
		return ErrDefinitionMismatch
	}
	return nil
}

// Advance moves the partition's position and watermark without any rows.
func (s *Store) Advance(ctx context.Context, from, to Position) error {
	return s.BeginFunc(ctx, func(tx *Tx) error { return tx.advance(ctx, from, to) })
}

func (tx *Tx) advance(ctx context.Context, from, to Position) error {
	tag, err := tx.tx.Exec(ctx, advanceSQL, from.Partition, from.Epoch, int64(from.Sequence),
		int64(to.Sequence), timestamp(to.Clock.Now), timestamp(to.Clock.Watermark), to.RetrySeq, int64(to.LastMessage), timestamp(to.LastMessageAt), from.RetrySeq)
	if err != nil {
		return fmt.Errorf("position: %w", err)
	}
	if tag.RowsAffected() != 1 {
		return ErrFenced
	}
	return nil
}
