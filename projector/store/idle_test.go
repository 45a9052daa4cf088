package store_test

import (
	"maps"
	"testing"

	"callboard/events"
	"callboard/projector/store"
)

// Positions move together, but for one that has another writer, one that a transaction holds, and one that is gone.
func TestStore_AdvanceIdle(t *testing.T) {
	t.Parallel()
	s, database, _ := openStore(t)
	var moves []store.Move
	for partition := range int16(5) {
		position, err := s.Claim(t.Context(), stream(), partition)
		if err != nil {
			t.Fatal(err)
		}
		position.Clock.Watermark = events.Time(int64(partition) * 1000)
		to := position
		to.Sequence, to.LastMessage, to.LastMessageAt = 7+uint64(partition), 6, 1234
		to.Clock.RaiseWatermark(2500)
		moves = append(moves, store.Move{From: position, To: to})
	}
	exec(t, database, "update projection.position set epoch = epoch + 1 where partition = 1")
	exec(t, database, "delete from projection.position where partition = 3")
	held, err := database.Pool(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback(t.Context()) }()
	if _, err := held.Exec(t.Context(), "select from projection.position where partition = 2 for update"); err != nil {
		t.Fatal(err)
	}
	moved, err := s.AdvanceIdle(t.Context(), moves)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[int16]bool{0: true, 1: false, 3: false, 4: true}; !maps.Equal(moved, want) {
		t.Errorf("moved = %v, want %v", moved, want)
	}
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	positions, err := store.Positions(t.Context(), connect(t, database, "projection"), "projection")
	if err != nil {
		t.Fatal(err)
	}
	for _, partition := range []int16{0, 4} {
		got, want := positions[partition], moves[partition].To
		if got.Sequence != want.Sequence || got.LastMessage != want.LastMessage || got.LastMessageAt != want.LastMessageAt || got.Clock != want.Clock {
			t.Errorf("position of partition %d = %+v, want %+v", partition, got, want)
		}
	}
	for _, partition := range []int16{1, 2} {
		if positions[partition].Sequence != 0 {
			t.Errorf("sequence of partition %d = %d, want 0", partition, positions[partition].Sequence)
		}
	}
}
