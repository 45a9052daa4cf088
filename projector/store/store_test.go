package store_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

func TestStore_LoadReturnsEveryFieldThatWriteWrote(t *testing.T) {
	t.Parallel()
	s, database, _ := openStore(t)
	full := fullHistory()
	position := applyBatch(t, s, claim(t, s), full)
	before := database.Projection(t)
	// A batch that touches every row and changes none writes nothing.
	for i := range full {
		full[i].At += 1000
	}
	applyBatch(t, s, position, full)
	if list := before.Diff(database.Projection(t)); len(list) > 0 {
		t.Errorf("rows changed by a repeated history:\n%s", strings.Join(list, "\n"))
	}
	err := s.BeginFunc(t.Context(), func(tx *store.Tx) error {
		loaded, err := tx.Load(t.Context(), 3, eventsOf(full), false)
		if err == nil {
			checkLoaded(t, loaded, full)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkLoaded checks that the loaded rows of every table equal those that the history is folded to from nothing.
func checkLoaded(t *testing.T, loaded *fold.State, full []timedEvent) {
	t.Helper()
	fresh := &fold.State{Partition: 3}
	for _, e := range full {
		if _, err := fresh.Apply(e.Event, e.At-1000); err != nil {
			t.Fatal(err)
		}
	}
	neverLoaded := []string{"GroupMembers", "ExtensionEntries", "TranscriptTexts"}
	for field, table := range reflect.ValueOf(loaded).Elem().Fields() {
		if !strings.HasPrefix(field.Type.Name(), "Table[") || slices.Contains(neverLoaded, field.Name) {
			continue
		}
		got, want := rowsOf(table), rowsOf(reflect.ValueOf(fresh).Elem().FieldByIndex(field.Index))
		if len(want) == 0 || !maps.Equal(got, want) {
			t.Errorf("%s: loaded rows = %+v, want %+v", field.Name, got, want)
		}
	}
}

// rowsOf returns the rows of a [fold.Table].
func rowsOf(table reflect.Value) map[any]bool {
	rows := make(map[any]bool)
	for row := range table.Addr().MethodByName("Rows").Call(nil)[0].Seq() {
		rows[row.Elem().Interface()] = true
	}
	return rows
}

func TestStore_FencesOldEpochsAndPositions(t *testing.T) {
	t.Parallel()
	s, _, _ := openStore(t)
	older := claim(t, s)
	current := claim(t, s)
	moved := current
	moved.Sequence = 7
	if err := s.Advance(t.Context(), current, moved); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		from, to store.Position
	}{
		{"an older epoch", older, moved},
		{"an older position", current, moved},
		{"backwards", moved, current},
	} {
		if err := s.Advance(t.Context(), test.from, test.to); !errors.Is(err, store.ErrFenced) {
			t.Errorf("%s: error = %v, want ErrFenced", test.name, err)
		}
	}
}

func TestStore_ClaimRefusesAnotherStreamAndAnotherDefinition(t *testing.T) {
	t.Parallel()
	s, database, _ := openStore(t)
	claim(t, s)
	if _, err := s.Claim(t.Context(), uuid.New(), 3); !errors.Is(err, store.ErrStreamReplaced) {
		t.Errorf("another stream: error = %v, want ErrStreamReplaced", err)
	}
	exec(t, database, "update projection.generation set definition = 'other'")
	if _, err := s.Claim(t.Context(), stream(), 3); !errors.Is(err, store.ErrDefinitionMismatch) {
		t.Errorf("another definition: error = %v, want ErrDefinitionMismatch", err)
	}
	exec(t, database, "drop table projection.generation")
	if _, err := s.Claim(t.Context(), stream(), 3); !errors.Is(err, store.ErrDefinitionMismatch) {
		t.Errorf("no definition: error = %v, want ErrDefinitionMismatch", err)
	}
}

func TestStore_RegisterStreamReturnsTheFirstNumberOfPartitions(t *testing.T) {
	t.Parallel()
	s, database, pool := openStore(t)
	if n, err := store.RegisteredPartitions(t.Context(), pool, stream()); n != 0 || err != nil {
		t.Errorf("partitions before = %d, %v, want 0", n, err)
	}
	for _, partitions := range []int{16, 32} {
		if n, err := s.RegisterStream(t.Context(), stream(), partitions); n != 16 || err != nil {
			t.Errorf("registered with %d: partitions = %d, %v, want 16", partitions, n, err)
		}
	}
	exec(t, database, "update control.migration set version_id = version_id - 1")
	if _, err := s.RegisterStream(t.Context(), stream(), 16); !errors.Is(err, store.ErrNotMigrated) {
		t.Errorf("without a migration: error = %v, want ErrNotMigrated", err)
	}
}

// The first claim of an empty generation records the number of the stream's partitions. A stream with another
// number is refused.
func TestStore_ClaimRecordsTheNumberOfPartitions(t *testing.T) {
	t.Parallel()
	s, _, pool := openStore(t)
	for _, c := range []struct {
		stream                uuid.UUID
		partitions, partition int16
		want                  error
	}{{stream(), 16, 3, nil}, {stream(), 16, 4, nil}, {uuid.New(), 32, 20, store.ErrStreamReplaced}} {
		if _, err := s.RegisterStream(t.Context(), c.stream, int(c.partitions)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Claim(t.Context(), c.stream, c.partition); !errors.Is(err, c.want) {
			t.Errorf("partition %d of %d: error = %v, want %v", c.partition, c.partitions, err, c.want)
		}
	}
	var partitions, positions int
	err := pool.QueryRow(t.Context(), "select partitions, (select count(*) from position) from generation").Scan(&partitions, &positions)
	if err != nil || partitions != 16 || positions != 2 {
		t.Errorf("partitions = %d, positions = %d, %v, want 16 and 2", partitions, positions, err)
	}
}

// A position can be between the first and the last message of a cap, in a generation whose commits are others.
func TestStore_ClockCapsReachAboveThePosition(t *testing.T) {
	t.Parallel()
	s, _, _ := openStore(t)
	from := claim(t, s)
	to := from
	to.Sequence = 9
	write(t, s, store.ChangeSet{
		From: from, To: to, State: new(fold.State),
		ClockAdjustments: []fold.ClockAdjustment{{Capped: true, First: 4, Last: 9, LastStoredAt: 90_000_000, Time: 1000, Messages: 2}},
	})
	for sequence, want := range map[uint64]events.Time{0: 1000, 4: 1000, 8: 1000, 9: 2000} {
		at := to
		at.Sequence = sequence
		d, err := s.Decisions(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.ClockAdjustments.StoredAt(9, 2000); got != want {
			t.Errorf("above position %d, message 9 counts as stored at %d, want %d", sequence, got, want)
		}
	}
	// It is capped once more by a clock that is behind. A forward adjustment can be of the same message.
	write(t, s, store.ChangeSet{
		From: to, To: to, State: new(fold.State),
		ClockAdjustments: []fold.ClockAdjustment{
			{Capped: true, First: 4, Last: 6, LastStoredAt: 80_000_000, Time: 900, Messages: 1}, forward(4, 1100),
		},
	})
	checkClockAdjustments(t, s, from, forward(4, 1100),
		fold.ClockAdjustment{Capped: true, First: 4, Last: 9, LastStoredAt: 90_000_000, Time: 900, Messages: 2})
}

// forward is the adjustment of a message forward to a time.
func forward(sequence uint64, to events.Time) fold.ClockAdjustment {
	return fold.ClockAdjustment{First: sequence, Last: sequence, Time: to}
}

// checkClockAdjustments compares the adjustments that are read above a position.
func checkClockAdjustments(t *testing.T, s *store.Store, above store.Position, want ...fold.ClockAdjustment) {
	t.Helper()
	d, err := s.Decisions(t.Context(), above)
	if err != nil {
		t.Fatal(err)
	}
	got := d.ClockAdjustments.List()
	slices.SortFunc(got, func(a, b fold.ClockAdjustment) int { return a.Messages - b.Messages })
	if !slices.Equal(got, want) {
		t.Errorf("clock adjustments above %d = %+v, want %+v", above.Sequence, got, want)
	}
}

func TestStore_DecisionsAreThoseAboveThePosition(t *testing.T) {
	t.Parallel()
	s, _, pool := openStore(t)
	from := claim(t, s)
	to := from
	to.Sequence = 9
	stored := time.Now()
	write(t, s, store.ChangeSet{
		From: from, To: to, State: new(fold.State),
		ClockAdjustments: []fold.ClockAdjustment{forward(8, 1234567)},
		DeadLetters: []store.DeadLetter{{
			Sequence: 9, Subject: "phones.3.x.y", Header: []byte("h"), Data: []byte{0, 0xff}, Reason: "not JSON", StoredAt: stored,
		}},
	})
	// The stream lost the message and gave its sequence to others: the latest time counts.
	for _, at := range []events.Time{1234568, 1234566} {
		write(t, s, store.ChangeSet{
			From: to, To: to, State: new(fold.State), ClockAdjustments: []fold.ClockAdjustment{forward(8, at)},
		})
	}
	checkClockAdjustments(t, s, from, forward(8, 1234568))
	d, err := s.Decisions(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	if reason := d.DeadLetters[store.NewMessageID(9, stored)]; len(d.DeadLetters) != 1 || reason != "not JSON" {
		t.Errorf("dead letters = %v, want sequence 9", d.DeadLetters)
	}
	if d, err := s.Decisions(t.Context(), to); err != nil || len(d.ClockAdjustments.List())+len(d.DeadLetters) != 0 {
		t.Errorf("decisions above the position = %v, %v, want none", d, err)
	}
	var data []byte
	if err := pool.QueryRow(t.Context(), "select data from control.dead_letter where sequence = 9").Scan(&data); err != nil || len(data) != 2 {
		t.Errorf("data = %v, %v, want 2 bytes", data, err)
	}
}
