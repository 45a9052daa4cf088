package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Move moves a partition's position without rows.
type Move struct{ From, To Position }

//go:embed advance_idle.sql
var advanceIdleSQL string

// AdvanceIdle moves positions in one transaction. moved tells for each partition whether it was moved: false where the
// position isn't From, so that its writer is fenced. A position that another transaction holds is missing: nothing is
// known about it.
func (s *Store) AdvanceIdle(ctx context.Context, moves []Move) (moved map[int16]bool, err error) {
	moved = make(map[int16]bool)
	if len(moves) == 0 {
		return moved, nil
	}

	var pipeline pgx.Batch
	for _, m := range moves {
		pipeline.Queue(advanceIdleSQL, m.From.Partition, m.From.Epoch, int64(m.From.Sequence), int64(m.To.Sequence),
			m.To.Clock.Watermark.Std(), int64(m.To.LastMessage), m.To.LastMessageAt.Std(),
		).QueryRow(func(row pgx.Row) error {
			var done bool
			err := row.Scan(&done)
			if errors.Is(err, pgx.ErrNoRows) {
				// Another transaction holds the position, and the statement does not wait for it.
				return nil
			}

			moved[m.From.Partition] = done
			return err
		})
	}

	err = s.withConn(ctx, func(conn *pgxpool.Conn) error { return conn.SendBatch(ctx, &pipeline).Close() })
	if err != nil {
		return nil, fmt.Errorf("idle positions: %w", err)
	}
	return moved, nil
}
