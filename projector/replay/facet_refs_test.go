package replay_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold/foldtest"
	"callboard/projector/replay"
	"callboard/projector/store"
)

// historyOf is the history of one partition.
func historyOf(t failer, list ...events.Event) history {
	t.Helper()
	h := history{partitions: 1, decisions: map[int16]store.Decisions{0: {}}}
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for i, e := range list {
		e.ID, e.Source = fmt.Sprint("event-", i), "test"
		m, err := events.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		m.Subject = strings.Replace(m.Subject, "phones.", "phones.0.", 1)
		at = at.Add(time.Millisecond)
		h.messages = append(h.messages, events.StoredMessage{Message: m, Sequence: uint64(i + 1), StoredAt: at})
	}
	return h
}

// A change that is older than an earlier deletion says nothing about the owner of a recording: the fold accepts the next newer change, of
// another call.
func TestReplay_OwnerOfDeletedRecordingIsThatOfTheNextNewerChange(t *testing.T) {
	t.Parallel()
	c, system := readCatalog(t), foldtest.ID(1)
	first, second := foldtest.ID(10), foldtest.ID(11)
	call := func(id uuid.UUID) events.Event {
		return events.Changed(&events.Call{ID: id, PhoneSystemID: system, Version: 1, CallSid: "CA1", Direction: "inbound", Status: "completed"})
	}
	recording := func(call uuid.UUID, version int64) events.Event {
		return events.Changed(&events.Recording{
			RecordingSid: "RE1", PhoneSystemID: system, CallID: events.Some(call), Version: version, Status: events.RecordingProcessing,
		})
	}
	deleted := events.Deleted(recording(first, 5).Identity)
	h := historyOf(t, call(first), call(second), deleted, recording(first, 3), recording(second, 6))
	want := h.want(t, c, store.ReadingOrder)
	for slots := 2; slots < 6; slots++ {
		s := openSpool(t, t.TempDir(), h.plan(slots))
		if err := s.Append(h.messages); err != nil {
			t.Fatal(err)
		}
		f := s.Fold(replay.PartID{}, replay.Folding{Catalog: c, Memory: 1 << 20})
		if err := f.UpTo(t.Context(), h.last(), store.Decisions{}); err != nil {
			t.Fatal(err)
		}
		got := newResult()
		got.add(t, f.Changes(), f.Rows())
		if lines := got.differences(want); len(lines) > 0 {
			t.Errorf("%d slots: %s", slots, strings.Join(lines, "\n"))
		}
	}
}
