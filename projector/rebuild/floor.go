package rebuild

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/projector/store"
)

var (
	//go:embed raise_floors.sql
	raiseFloorsSQL string

	//go:embed lower_floors.sql
	lowerFloorsSQL string

	//go:embed exclude_fan_outs.sql
	excludeFanOutsSQL string
)

// raiseFloors sets the floors of webhook notices during the write pause of a switch. A message of the new generation
// that a projector folds again writes no notices then. Where both generations have the same position, nothing is lost:
// the notices up to it are written.
func (b *builder) raiseFloors(ctx context.Context, tx pgx.Tx) error {
	next, err := store.Positions(ctx, tx.Conn(), b.next.Schema())
	if err != nil {
		return err
	}
	live, err := store.Positions(ctx, tx.Conn(), liveSchema)
	if err != nil {
		return err
	}

	// Raising never lowers a floor, so the floors of lost messages are lowered first.
	if err := b.lowerFloors(ctx, tx, next); err != nil {
		return fmt.Errorf("lower the floors of notices: %w", err)
	}

	// Up to which sequence projectors have written the notices of each partition. Sequences of messages that the stream
	// has lost say nothing; the time of the last message says whether the stream has stored others since.
	var positions []store.Position
	known := make([]int64, 0, len(next))
	for _, partition := range slices.Sorted(maps.Keys(next)) {
		to, from := next[partition], live[partition]
		regressed, lost := b.lost.regressed[partition]

		switch {
		case lost && to.LastMessageAt > regressed.LastMessageAt:
			known = append(known, -1)
		case lost:
			known = append(known, int64(to.Sequence))
		case from.Stream == to.Stream:
			known = append(known, int64(from.Sequence))
		default:
			known = append(known, 0)
		}

		positions = append(positions, to)
	}

	err = tx.QueryRow(ctx, raiseFloorsSQL, append(arguments(positions), known)...).Scan(&b.result.WithoutNotices)
	if err != nil {
		return fmt.Errorf("raise the floors of notices: %w", err)
	}
	return nil
}

// lowerFloors makes room for the notices of new messages with the sequences of lost ones.
func (b *builder) lowerFloors(ctx context.Context, tx pgx.Tx, next map[int16]store.Position) error {
	if len(b.lost.regressed) == 0 {
		return nil
	}

	// Fan-outs and registrations of endpoints have read the floors, so they must wait until the transaction ends.
	if _, err := tx.Exec(ctx, excludeFanOutsSQL); err != nil {
		return err
	}

	var positions []store.Position
	for _, partition := range slices.Sorted(maps.Keys(b.lost.regressed)) {
		if p, ok := next[partition]; ok {
			positions = append(positions, p)
		}
	}
	_, err := tx.Exec(ctx, lowerFloorsSQL, arguments(positions)...)
	return err
}

// arguments are positions as the parameters of a statement.
func arguments(positions []store.Position) []any {
	var streams []uuid.UUID
	var partitions []int16
	var sequences []int64
	for _, p := range positions {
		streams, partitions, sequences = append(streams, p.Stream), append(partitions, p.Partition), append(sequences,
			int64(p.Sequence))
	}
	return []any{streams, partitions, sequences}
}
