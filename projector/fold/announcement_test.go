package fold_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/fold/foldtest"
)

// forward is an event of the call, which was forwarded to a call group; 0: to none.
func forward(version int64, group int) events.Event {
	c := call(version)
	if group > 0 {
		c.CallGroupID = events.Some(id(group))
	}
	return events.Changed(c)
}

func desk(version int64, name string) events.Event {
	return events.Changed(&events.CallGroup{ID: id(20), PhoneSystemID: id(1), Version: version, Name: name})
}

func deskDeleted() events.Event {
	return deleted(&events.CallGroup{ID: id(20), PhoneSystemID: id(1), Version: 2})
}

// otherCall refers to the call group from the beginning.
func otherCall() events.Event {
	c := call(1)
	c.ID, c.CallGroupID = id(31), events.Some(id(20))
	return events.Changed(c)
}

func TestFold_AnnouncesADirectoryEntryToItsCalls(t *testing.T) {
	for _, test := range []struct {
		name      string
		history   []foldtest.TimedEvent
		updatedAt events.Time // of the call
		announced events.Time // 0: never
	}{
		{"that came before the call", []foldtest.TimedEvent{at(1, desk(1, "Desk")), at(2, forward(1, 20))}, 2, 0},
		{"that came later", []foldtest.TimedEvent{at(1, forward(1, 20)), at(2, desk(1, "Desk"))}, 2, 2},
		{"that no call refers to", []foldtest.TimedEvent{at(1, forward(1, 20)), at(2, forward(2, 0)), at(3, desk(1, "Desk"))}, 1, 0},
		{"that is renamed", []foldtest.TimedEvent{at(1, forward(1, 20)), at(2, desk(1, "Desk")), at(3, desk(2, "Front"))}, 2, 2},
		{"that is deleted", []foldtest.TimedEvent{at(1, forward(1, 20)), at(2, desk(1, "Desk")), at(3, deskDeleted())}, 2, 2},
		{
			"that is there again",
			[]foldtest.TimedEvent{at(1, desk(1, "Desk")), at(2, forward(1, 20)), at(3, deskDeleted()), at(4, desk(3, "Desk"))}, 4, 4,
		},
		{
			"that is there again, at the same time",
			[]foldtest.TimedEvent{at(1, forward(1, 20)), at(2, desk(1, "Desk")), at(2, deskDeleted()), at(2, desk(3, "Desk"))}, 2, 2,
		},
		{
			"to which the call does not refer any more",
			[]foldtest.TimedEvent{at(1, forward(1, 20)), at(2, desk(1, "Desk")), at(3, deskDeleted()), at(4, forward(2, 0))}, 2, 2,
		},
		{
			"to which the call refers only later",
			[]foldtest.TimedEvent{
				at(1, forward(1, 0)), at(1, otherCall()), at(2, desk(1, "Desk")), at(3, deskDeleted()), at(4, forward(2, 20)),
			}, 1, 2,
		},
		{
			"to which the call refers only later, and that is there again at that time",
			[]foldtest.TimedEvent{
				at(1, forward(1, 0)), at(1, otherCall()), at(2, desk(1, "Desk")), at(2, deskDeleted()), at(2, forward(2, 20)), at(2, desk(3, "Desk")),
			}, 2, 2,
		},
		{
			"to which the call refers again",
			[]foldtest.TimedEvent{
				at(1, forward(1, 20)), at(2, forward(2, 0)), at(2, otherCall()), at(3, desk(1, "Desk")), at(4, deskDeleted()), at(5, forward(3, 20)),
			}, 1, 3,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for size := 1; size <= len(test.history); size++ {
				f := newFixture()
				for batch := range slices.Chunk(test.history, size) {
					f.apply(batch...)
				}
				if got := f.call().UpdatedAt; got != test.updatedAt {
					t.Errorf("in batches of %d: updatedAt = %d, want %d", size, got, test.updatedAt)
				}
				key := fold.AnnouncementKey{System: id(1), Family: fold.FamilyCallGroup, ID: id(20)}
				if got := f.Announcements[key].At; got != test.announced {
					t.Errorf("in batches of %d: announced at %d, want %d", size, got, test.announced)
				}
			}
		})
	}
}

// Each id of a call that a report shows is announced, once for both extensions.
func TestFold_AnnouncesEveryFamily(t *testing.T) {
	f := newFixture()
	c := call(1)
	c.AnsweredByExtensionID, c.FromExtensionID = events.Some(id(10)), events.Some(id(11))
	a := analysis(80, 1, 1)
	a.Representative = &events.RepresentativeRole{State: "identified", ID: events.Some(id(70))}
	f.apply(at(1, events.Changed(c)), at(2, events.Changed(a)))
	for i, entry := range []events.State{
		&events.Extension{ID: id(10), PhoneSystemID: id(1), Version: 1}, &events.Extension{ID: id(11), PhoneSystemID: id(1), Version: 1},
		&events.Representative{ID: id(70), PhoneSystemID: id(1), Version: 1},
	} {
		want := events.Time(3 + i)
		f.apply(at(want, events.Changed(entry)))
		if got := f.call().UpdatedAt; got != want {
			t.Errorf("after the event of the %s: updatedAt = %d, want %d", entry.Identity().Entity, got, want)
		}
	}
	// The same ids are others in another phone system.
	f.apply(at(9, events.Changed(&events.Extension{ID: id(10), PhoneSystemID: uuid.New(), Version: 1})))
	if got := f.call().UpdatedAt; got != 5 {
		t.Errorf("after an event of another phone system: updatedAt = %d, want 5", got)
	}
}

func TestState_TakeAnnouncementsKeepsTheLast(t *testing.T) {
	whole := new(fold.State)
	for _, times := range [][]events.Time{{1, 5}, {1, 9}, {1, 7}} {
		slot := new(fold.State)
		for i, e := range []events.Event{forward(1, 20), desk(1, "Desk")} {
			if _, err := slot.Fold(e, times[i]); err != nil {
				t.Fatal(err)
			}
		}
		whole.TakeAnnouncements(slot)
		if row, _ := slot.CallLogs.Get(key(30)); row.UpdatedAt != times[1] {
			t.Errorf("updatedAt = %d, want %d", row.UpdatedAt, times[1])
		}
		for row := range slot.Announcements.Rows() {
			t.Errorf("announcement %v is in its first state, want it moved", *row)
		}
	}
	row, _ := whole.Announcements.Get(fold.AnnouncementKey{System: id(1), Family: fold.FamilyCallGroup, ID: id(20)})
	if row.At != 9 {
		t.Errorf("announced at %d, want 9", row.At)
	}
}
