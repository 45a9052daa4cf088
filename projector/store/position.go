package store

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/schema"
)

// Position is a row of position: every message of the partition up to Sequence is in the tables.
type Position struct {
	Partition     int16
	Stream        uuid.UUID // of whose messages the rows are
	Sequence      uint64
	Epoch         int64
	LastMessage   uint64      // the last known message up to Sequence, of any partition; 0: none
	LastMessageAt events.Time // when the stream stored it
	Clock         fold.Clock
}

// targets are the scan targets of the columns of positions.sql.
func (p *Position) targets() []any {
	return []any{
		&p.Partition, &p.Stream, &p.Sequence, &p.Epoch, &p.LastMessage, (*instant)(&p.LastMessageAt),
		(*instant)(&p.Clock.Now), (*instant)(&p.Clock.Watermark),
	}
}

var (
	//go:embed claim_position.sql
	claimPositionSQL string

	//go:embed set_partitions.sql
	setPartitionsSQL string

	//go:embed other_partitions.sql
	otherPartitionsSQL string

	//go:embed advance_position.sql
	advancePositionSQL string

	//go:embed insert_position.sql
	insertPositionSQL string

	//go:embed positions.sql
	positionsSQL string
)

const (
	registerStreamSQL = "insert into control.stream (stream, partitions) values ($1, $2) on conflict do nothing"

	registeredPartitionsSQL = "select partitions from control.stream where stream = $1"
)

// RegisterStream records how many partitions a stream has where it is new, and returns how many it had when it was
// first read. The error is [ErrNotMigrated] in a database without this release's migrations.
func (s *Store) RegisterStream(ctx context.Context, stream uuid.UUID, partitions int) (registered int, err error) {
	if err := schema.CheckMigrated(ctx, s.pool); err != nil {
		return 0, err
	}
	if _, err := s.pool.Exec(ctx, registerStreamSQL, stream, partitions); err != nil {
		return 0, fmt.Errorf("partitions: %w", err)
	}
	return RegisteredPartitions(ctx, s.pool, stream)
}

// RegisteredPartitions returns how many partitions a stream had when it was first read; 0: it was never read.
func RegisteredPartitions(ctx context.Context, db schema.RowQuerier, stream uuid.UUID) (partitions int, err error) {
	err = db.QueryRow(ctx, registeredPartitionsSQL, stream).Scan(&partitions)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("partitions: %w", err)
	}
	return partitions, nil
}

// Claim takes a partition over: its epoch rises, so that the previous owner can't commit any more. The position of
// a new partition is before the stream's first message. The first claim of a generation records the registered
// number of the stream's partitions in it. The error is [ErrStreamReplaced] where the position is of another
// stream, or the generation of a stream with another number of partitions, and [ErrDefinitionMismatch] where the
// tables are another release's.
func (s *Store) Claim(ctx context.Context, stream uuid.UUID, partition int16) (Position, error) {
	s.plans.outdate() // another projector may have written the partition's rows
	var p Position
	err := s.BeginFunc(ctx, func(tx *Tx) error {
		// A release must not write rows of another definition.
		if err := tx.checkDefinition(ctx); err != nil {
			return err
		}

		if err := tx.tx.QueryRow(ctx, claimPositionSQL, partition, stream).Scan(p.targets()...); err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		if p.Stream != stream {
			return ErrStreamReplaced
		}

		if err := tx.claimPartitions(ctx, stream); err != nil {
			return err
		}

		// Another generation may have gone live while the claim waited for a lock.
		return tx.checkDefinition(ctx)
	})
	return p, err
}

// claimPartitions records the number of the stream's partitions in a generation that has none.
func (tx *Tx) claimPartitions(ctx context.Context, stream uuid.UUID) error {
	if _, err := tx.tx.Exec(ctx, setPartitionsSQL, stream); err != nil {
		return fmt.Errorf("partitions: %w", err)
	}
	var other bool
	if err := tx.tx.QueryRow(ctx, otherPartitionsSQL, stream).Scan(&other); err != nil {
		return fmt.Errorf("partitions: %w", err)
	}
	if other {
		return ErrStreamReplaced
	}
	return nil
}

func (tx *Tx) checkDefinition(ctx context.Context) error {
	var definition []byte
	err := tx.tx.QueryRow(ctx, "select definition from generation").Scan(&definition)
	switch {
	case schema.HasCode(err, pgerrcode.UndefinedTable):
		return ErrDefinitionMismatch
	case err != nil:
		return fmt.Errorf("generation: %w", err)
	case !bytes.Equal(definition, schema.Definition()):
		return ErrDefinitionMismatch
	}
	return nil
}

// Positions returns the positions of the generation in a schema, by partition.
func Positions(ctx context.Context, conn *pgx.Conn, schema string) (map[int16]Position, error) {
	rows, _ := conn.Query(ctx, fmt.Sprintf(positionsSQL, pgx.Identifier{schema}.Sanitize()))
	all := make(map[int16]Position)
	var p Position
	_, err := pgx.ForEachRow(rows, p.targets(), func() error {
		all[p.Partition] = p
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("positions: %w", err)
	}
	return all, nil
}

// Advance moves a partition's position and watermark without any rows. The error is [ErrFenced] where the position
// isn't from.
func (s *Store) Advance(ctx context.Context, from, to Position) error {
	return s.BeginFunc(ctx, func(tx *Tx) error {
		var pipeline pgx.Batch
		queueAdvance(&pipeline, from, to)
		if err := tx.send(ctx, &pipeline); err != nil {
			return fmt.Errorf("position: %w", err)
		}
		return nil
	})
}

// queueAdvance queues the statement that moves a position. The pipeline fails with [ErrFenced] where the position
// isn't from.
func queueAdvance(pipeline *pgx.Batch, from, to Position) {
	pipeline.Queue(advancePositionSQL, from.Partition, from.Epoch, int64(from.Sequence), int64(to.Sequence),
		timestamp(to.Clock.Now), timestamp(to.Clock.Watermark), int64(to.LastMessage), timestamp(to.LastMessageAt),
	).Exec(func(done pgconn.CommandTag) error {
		if done.RowsAffected() != 1 {
			return ErrFenced
		}
		return nil
	})
}

// InsertPosition writes the position of a partition that has none.
func (s *Store) InsertPosition(ctx context.Context, p Position) error {
	return s.BeginFunc(ctx, func(tx *Tx) error {
		_, err := tx.tx.Exec(ctx, insertPositionSQL, p.Partition, p.Stream, int64(p.Sequence),
			timestamp(p.Clock.Now), timestamp(p.Clock.Watermark), int64(p.LastMessage), timestamp(p.LastMessageAt))
		if err != nil {
			return fmt.Errorf("position: %w", err)
		}
		return nil
	})
}

// instant scans a time.
type instant events.Time

// ScanTimestamptz implements [pgtype.TimestamptzScanner].
func (t *instant) ScanTimestamptz(v pgtype.Timestamptz) error {
	*t = instant(events.TimeOf(v.Time))
	return nil
}

func timestamp(t events.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: t.Std(), Valid: true}
}
