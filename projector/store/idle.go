package store

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Idle moves the positions of partitions that have no messages above them. All of them get the sequence and the last message of To.
type Idle struct {
	Positions []Position // where each partition is, of one stream
	To        Position   // Sequence, LastMessage, LastMessageAt, and the watermark in Clock; a later watermark of a partition stays
}

// After returns a position as it is after the move.
func (i Idle) After(p Position) Position {
	p.Sequence, p.LastMessage, p.LastMessageAt = i.To.Sequence, i.To.LastMessage, i.To.LastMessageAt
	p.Clock.RaiseWatermark(i.To.Clock.Watermark)
	return p
}

var (
	//go:embed advance_idle.sql
	advanceIdleSQL string

	//go:embed waiting_partitions.sql
	waitingPartitionsSQL string
)

// AdvanceIdle moves positions without rows, and reads which of the partitions given have dead letters whose retry is requested, in one
// transaction. moved tells for each partition whether it was moved: false where the position isn't what idle says, so that its writer is
// fenced. A position that another transaction holds is missing: nothing is known about it.
func (s *Store) AdvanceIdle(ctx context.Context, idle Idle, stream Stream, partitions []int16) (moved map[int16]bool, waiting []int16, err error) {
	moved = make(map[int16]bool)
	var pipeline pgx.Batch
	if len(idle.Positions) > 0 {
		pipeline.Queue(advanceIdleSQL, idle.arguments()...).Query(func(rows pgx.Rows) error {
			var partition int16
			var done bool
			_, err := pgx.ForEachRow(rows, []any{&partition, &done}, func() error { moved[partition] = done; return nil })
			return err
		})
	}
	pipeline.Queue(waitingPartitionsSQL, stream.Name, stream.Created, partitions).Query(func(rows pgx.Rows) (err error) {
		waiting, err = pgx.CollectRows(rows, pgx.RowTo[int16])
		return err
	})
	err = s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		if err := s.plans.configure(ctx, conn.Conn()); err != nil {
			return err
		}
		return conn.SendBatch(ctx, &pipeline).Close() // a pipeline is one transaction
	})
	if err != nil {
		return nil, nil, fmt.Errorf("idle positions: %w", err)
	}
	return moved, waiting, nil
}

// arguments are the parameters of advance_idle.sql.
func (i Idle) arguments() []any {
	n := len(i.Positions)
	partitions, watermarks := make([]int16, n), make([]time.Time, n)
	epochs, sequences, retries := make([]int64, n), make([]int64, n), make([]int64, n)
	for k, p := range i.Positions {
		partitions[k], epochs[k], sequences[k], retries[k] = p.Partition, p.Epoch, int64(p.Sequence), p.RetrySeq
		watermarks[k] = i.After(p).Clock.Watermark.Std()
	}
	return []any{
		partitions, epochs, sequences, retries, watermarks,
		int64(i.To.Sequence), int64(i.To.LastMessage), timestamp(i.To.LastMessageAt),
	}
}
