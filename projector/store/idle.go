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

// AdvanceIdle moves positions in one transaction, which a distributed projection can't: there, [Store.AdvanceIdleOne] does. moved tells for each
// partition whether it was moved: false where the position isn't From, so that its writer is fenced. A position that another transaction holds is
// missing: nothing is known about it.
func (s *Store) AdvanceIdle(ctx context.Context, moves []Move) (moved map[int16]bool, err error) {
	moved = make(map[int16]bool)
	if len(moves) == 0 {
		return moved, nil
	}
	err = s.withConn(ctx, func(conn *pgxpool.Conn) error {
		rows, _ := conn.Query(ctx, advanceIdleSQL, moveArguments(moves)...)
		var partition int16
		var done bool
		_, err := pgx.ForEachRow(rows, []any{&partition, &done}, func() error { moved[partition] = done; return nil })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("idle positions: %w", err)
	}
	return moved, nil
}

// AdvanceIdleOne moves one position, on its node. known is false where another transaction holds it.
func (s *Store) AdvanceIdleOne(ctx context.Context, m Move) (moved, known bool, err error) {
	err = s.withConn(ctx, func(conn *pgxpool.Conn) error {
		err := conn.QueryRow(ctx, advanceIdleOfOneSQL, m.From.Partition, m.From.Epoch, int64(m.From.Sequence), int64(m.To.Sequence),
			m.To.Clock.Watermark.Std(), int64(m.To.LastMessage), m.To.LastMessageAt.Std()).Scan(&moved)
		known = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return false, false, fmt.Errorf("idle position: %w", err)
	}
	return moved, known, nil
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
