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

//go:embed advance_idle.sql
var advanceIdleSQL string

// AdvanceIdle moves positions without rows, in one transaction. moved tells for each partition whether it was moved: false where the position
// isn't what idle says, so that its writer is fenced. A position that another transaction holds is missing: nothing is known about it.
func (s *Store) AdvanceIdle(ctx context.Context, idle Idle) (moved map[int16]bool, err error) {
	moved = make(map[int16]bool)
	if len(idle.Positions) == 0 {
		return moved, nil
	}
	err = s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		if err := s.plans.configure(ctx, conn.Conn()); err != nil {
			return err
		}
		rows, err := conn.Query(ctx, advanceIdleSQL, idle.arguments()...)
		if err != nil {
			return err
		}
		var partition int16
		var done bool
		_, err = pgx.ForEachRow(rows, []any{&partition, &done}, func() error { moved[partition] = done; return nil })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("idle positions: %w", err)
	}
	return moved, nil
}

// arguments are the parameters of advance_idle.sql.
func (i Idle) arguments() []any {
	n := len(i.Positions)
	partitions, watermarks := make([]int16, n), make([]time.Time, n)
	epochs, sequences := make([]int64, n), make([]int64, n)
	for k, p := range i.Positions {
		partitions[k], epochs[k], sequences[k] = p.Partition, p.Epoch, int64(p.Sequence)
		watermarks[k] = i.After(p).Clock.Watermark.Std()
	}
	return []any{
		partitions, epochs, sequences, watermarks,
		int64(i.To.Sequence), int64(i.To.LastMessage), timestamp(i.To.LastMessageAt),
	}
}
