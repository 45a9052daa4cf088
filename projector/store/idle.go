package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Move moves a partition's position without rows.
type Move struct{ From, To Position }

var (
	//go:embed advance_idle.sql
	advanceIdleSQL string

	//go:embed advance_idle_of_one.sql
	advanceIdleOfOneSQL string
)

// AdvanceIdle moves positions in one transaction, where the tables are distributed in one for each. moved tells for each partition whether it was
// moved: false where the position isn't From, so that its writer is fenced. A position that another transaction holds is missing: nothing is
// known about it. failed has the errors of partitions alone, whose node does not answer; err is that of all.
func (s *Store) AdvanceIdle(ctx context.Context, moves []Move) (moved map[int16]bool, failed map[int16]error, err error) {
	moved, failed = make(map[int16]bool), make(map[int16]error)
	if len(moves) == 0 {
		return moved, failed, nil
	}
	err = s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		if err := s.plans.configure(ctx, conn.Conn()); err != nil {
			return err
		}
		distributed, err := s.distributed(ctx, conn.Conn())
		if err != nil {
			return err
		}
		if distributed {
			advanceEach(ctx, conn.Conn(), moves, moved, failed)
			return nil
		}
		rows, err := conn.Query(ctx, advanceIdleSQL, moveArguments(moves)...)
		if err != nil {
			return err
		}
		var partition int16
		var done bool
		_, err = pgx.ForEachRow(rows, []any{&partition, &done}, func() error { moved[partition] = done; return nil })
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("idle positions: %w", err)
	}
	return moved, failed, nil
}

// moveArguments are the parameters of advance_idle.sql.
func moveArguments(moves []Move) []any {
	n := len(moves)
	partitions := make([]int16, n)
	epochs, from, to, messages := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	watermarks, storedAt := make([]time.Time, n), make([]time.Time, n)
	for i, m := range moves {
		partitions[i], epochs[i] = m.From.Partition, m.From.Epoch
		from[i], to[i] = int64(m.From.Sequence), int64(m.To.Sequence)
		watermarks[i] = m.To.Clock.Watermark.Std()
		messages[i], storedAt[i] = int64(m.To.LastMessage), m.To.LastMessageAt.Std()
	}
	return []any{partitions, epochs, from, to, watermarks, messages, storedAt}
}

// advanceEach moves each position in a transaction on its node.
func advanceEach(ctx context.Context, conn *pgx.Conn, moves []Move, moved map[int16]bool, failed map[int16]error) {
	for _, m := range moves {
		var done bool
		err := conn.QueryRow(ctx, advanceIdleOfOneSQL, m.From.Partition, m.From.Epoch, int64(m.From.Sequence), int64(m.To.Sequence),
			m.To.Clock.Watermark.Std(), int64(m.To.LastMessage), m.To.LastMessageAt.Std()).Scan(&done)
		if errors.Is(err, pgx.ErrNoRows) {
			continue
		}
		if err != nil {
			failed[m.From.Partition] = fmt.Errorf("idle position: %w", err)
			continue
		}
		moved[m.From.Partition] = done
	}
}
