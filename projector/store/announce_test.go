package store_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/fold/foldtest"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

// A batch whose announcements were stored before its projector was killed is applied again, in the same or in other batches.
func TestAnnounce_InterruptedBatchesGiveTheSameRows(t *testing.T) {
	t.Parallel()
	s, database, _ := openStore(t)
	conn := connect(t, database, "projection")
	rapid.Check(t, func(r *rapid.T) {
		database.ClearProjection(t)
		position, history := claim(r, s), foldtest.RandomHistory(r)
		for rest := history; len(rest) > 0; {
			announceOnly(r, s, position, rest[:rapid.IntRange(1, min(3, len(rest))).Draw(r, "interrupted batch")])
			n := rapid.IntRange(1, min(6, len(rest))).Draw(r, "batch") // small ones leave calls to announce to
			position = applyBatch(r, s, position, rest[:n])
			rest = rest[n:]
		}
		checkStored(r, conn, folded(history), allSystems())
	})
}

// announceOnly does what comes before the commit of a batch, and returns how many calls it changed.
func announceOnly(t failer, s *store.Store, from store.Position, batch []foldtest.TimedEvent) int64 {
	t.Helper()
	changes := store.ChangeSet{From: from}
	err := s.BeginFunc(context.Background(), func(tx *store.Tx) (err error) {
		changes.State, err = tx.Load(context.Background(), from.Partition, eventsOf(batch), false)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	foldInto(changes.State, batch)
	calls, err := s.Announce(context.Background(), changes)
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

func callOfGroup(n int, version int64, group events.Null[uuid.UUID], at events.Time) foldtest.TimedEvent {
	return foldtest.TimedEvent{At: at, Event: events.Changed(&events.Call{
		ID: foldtest.ID(n), PhoneSystemID: foldtest.ID(1), Version: version, CallSid: "CA", Direction: "inbound", Status: "completed",
		CallGroupID: group,
	})}
}

func lateGroup(at events.Time) foldtest.TimedEvent {
	return foldtest.TimedEvent{Event: events.Changed(&events.CallGroup{ID: foldtest.ID(20), PhoneSystemID: foldtest.ID(1), Version: 1}), At: at}
}

// The rows of the calls that a batch has events of are written with the batch only: what it says of them can come before the announcement.
func TestAnnounce_LeavesTheCallsOfTheBatch(t *testing.T) {
	t.Parallel()
	s, database, _ := openStore(t)
	conn, group := connect(t, database, "projection"), events.Some(foldtest.ID(20))
	history := []foldtest.TimedEvent{
		callOfGroup(30, 1, group, 1000), callOfGroup(31, 1, group, 1000), callOfGroup(30, 2, events.Null[uuid.UUID]{}, 2000), lateGroup(3000),
	}
	position := applyBatch(t, s, claim(t, s), history[:2])
	if calls := announceOnly(t, s, position, history[2:]); calls != 1 {
		t.Errorf("calls that were changed ahead = %d, want 1", calls)
	}
	applyBatch(t, s, position, history[2:])
	checkStored(t, conn, folded(history), allSystems())
}

// A phone system has more calls than a slice, and others come between them in the table. Every second call refers to the extension.
func TestAnnounce_ReachesEveryCallOfThePhoneSystem(t *testing.T) {
	t.Parallel()
	const calls = 25_000
	s, database, pool := openStore(t)
	position := claim(t, s)
	systems, extension := []uuid.UUID{foldtest.ID(1), foldtest.ID(2)}, foldtest.ID(10)
	for batch := range 10 {
		var history []foldtest.TimedEvent
		for i := range calls / 10 * len(systems) {
			c := &events.Call{ID: uuid.New(), PhoneSystemID: systems[i%2], Version: 1, CallSid: "CA", Direction: "inbound", Status: "completed"}
			if i/2%2 == 0 {
				c.FromExtensionID = events.Some(extension)
			}
			history = append(history, foldtest.TimedEvent{Event: events.Changed(c), At: events.Time(1000 + batch)})
		}
		position = applyBatch(t, s, position, history)
	}
	define := func(at events.Time, version int64) {
		t.Helper()
		late := &events.Extension{ID: extension, PhoneSystemID: systems[0], Version: version, Number: "101"}
		position = applyBatch(t, s, position, []foldtest.TimedEvent{{Event: events.Changed(late), At: at}})
	}
	count := func(at events.Time) int {
		t.Helper()
		return schematest.QueryOne[int](t, pool,
			"select count(*) from call_log where updated_at = $1 and system_id = $2 and from_extension_id is not null", at.Std(), systems[0])
	}
	define(5000, 1)
	if got, want := count(5000), calls/2; got != want {
		t.Errorf("calls that were updated with the entry = %d, want %d", got, want)
	}
	before := database.Projection(t)
	define(6000, 2)
	after := database.Projection(t)
	if got, want := count(5000), calls/2; got != want {
		t.Errorf("calls that were updated with the entry = %d after it changed, want %d", got, want)
	}
	if got, want := len(before.Diff(after)), 2; got > want {
		t.Errorf("rows that differ after the entry changed = %d, want %d: the extension and the position", got, want)
	}
	var others int
	err := pool.QueryRow(t.Context(), `
		select count(*) from call_log where updated_at >= $1 and not (system_id = $2 and from_extension_id is not null)`,
		events.Time(5000).Std(), systems[0]).Scan(&others)
	if err != nil || others != 0 {
		t.Errorf("other calls that were updated = %d, %v, want none", others, err)
	}
}

// A projector that lost its partition changes nothing.
func TestAnnounce_IsFenced(t *testing.T) {
	t.Parallel()
	s, _, pool := openStore(t)
	position := applyBatch(t, s, claim(t, s), []foldtest.TimedEvent{callOfGroup(30, 1, events.Some(foldtest.ID(20)), 1000)})
	changes := store.ChangeSet{From: position, State: new(fold.State)}
	changes.State.LoadReferenceCount(fold.ReferenceKey{System: foldtest.ID(1), Family: fold.FamilyCallGroup, Key: foldtest.ID(20).String()}, 1)
	foldInto(changes.State, []foldtest.TimedEvent{lateGroup(2000)})
	moved := changes
	moved.From.Sequence++
	current := claim(t, s) // the epoch rises
	for name, of := range map[string]store.ChangeSet{"of an older epoch": changes, "of another position": moved} {
		if name == "of another position" {
			of.From.Epoch = current.Epoch
		}
		if calls, err := s.Announce(t.Context(), of); calls != 0 || err != nil {
			t.Errorf("calls that a projector %s changed = %d, %v, want none", name, calls, err)
		}
	}
	changes.From.Epoch = current.Epoch
	if calls, err := s.Announce(t.Context(), changes); calls != 1 || err != nil {
		t.Errorf("calls that the owner changed = %d, %v, want 1", calls, err)
	}
	var at int64
	if err := pool.QueryRow(t.Context(), "select extract(epoch from updated_at)::bigint from call_log").Scan(&at); err != nil || at != 2 {
		t.Errorf("updated_at = %d s, %v, want 2 s", at, err)
	}
}
