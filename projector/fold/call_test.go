package fold_test

import (
	"testing"

	"callboard/events"
	"callboard/projector/fold"
)

func TestCall_DeletionIsFinal(t *testing.T) {
	w := newWorld()
	gone := events.Changed(call(1))
	gone.State = nil
	gone.Version = 2
	mustOutcomes(t, w.apply(
		at(1, events.Changed(recording("RE1", 30, 1))),
		at(2, events.Changed(call(1))),
		at(3, attempt("completed:A", 1)),
		at(4, gone),
		at(5, events.Changed(call(9))),
		at(6, attempt("completed:B", 9)),
		at(7, events.Changed(recording("RE2", 30, 9))),
	), fold.Applied, fold.Applied, fold.Applied, fold.Applied, fold.Ignored, fold.Ignored, fold.Ignored)
	if n := len(w.callLogs) + len(w.transcripts) + len(w.transcriptTexts) + len(w.recordings) + len(w.counts); n > 0 {
		t.Errorf("%d rows of a deleted call are left", n)
	}
}

func TestCall_FacetsShowFromItsArrival(t *testing.T) {
	w := newWorld()
	w.apply(at(1, events.Changed(recording("RE1", 30, 1))), at(2, attempt("completed:A", 1)))
	if len(w.callLogs) > 0 {
		t.Fatal("a call is there before its event")
	}
	w.apply(at(3, events.Changed(call(1))))
	row := w.callLogs[fold.Key{System: id(1), ID: id(30)}]
	if row.RecordingSid != events.Some("RE1") || row.Transcription.Status != fold.TranscriptionCompleted || row.UpdatedAt != 3 {
		t.Errorf("row %+v", row)
	}
	if got := w.recordings[fold.RecordingKey{System: id(1), Sid: "RE1"}].CallSid; got != events.Some("CA1") {
		t.Errorf("recording's callSid %v, want CA1", got)
	}
}

func TestCall_ClearedReferenceMovesNothing(t *testing.T) {
	key := fold.Key{System: id(1), ID: id(30)}
	referring, cleared := call(1), call(2)
	referring.CallGroupID = events.Some(id(20))
	group := events.Changed(&events.CallGroup{ID: id(20), PhoneSystemID: id(1), Version: 1})
	deleted := events.Deleted(events.Identity{Entity: events.EntityCallGroup, System: id(1), Key: id(20).String(), Version: 2})

	w := newWorld()
	w.apply(at(1, group), at(2, events.Changed(referring)), at(3, deleted), at(4, events.Changed(cleared)))
	if row := w.callLogs[key]; row.UpdatedAt != 2 || row.CallGroupID.Valid {
		t.Errorf("cleared after the group's deletion: updatedAt %d, want 2", row.UpdatedAt)
	}

	w = newWorld()
	w.apply(at(1, group), at(2, events.Changed(referring)), at(3, events.Changed(cleared)))
	if row := w.callLogs[key]; row.UpdatedAt != 3 {
		t.Errorf("cleared while the group is there: updatedAt %d, want 3", row.UpdatedAt)
	}
}

func TestRecording_OfACall(t *testing.T) {
	unavailable := recording("RE2", 30, 2)
	unavailable.Status = events.RecordingUnavailable
	older, newer := recording("RE1", 30, 1), recording("RE2", 30, 1)
	older.CreatedAt, newer.CreatedAt = 10, 20
	removed := events.Changed(recording("RE1", 30, 2))
	removed.State = nil

	w := newWorld()
	sid := func() events.Null[string] { return w.callLogs[fold.Key{System: id(1), ID: id(30)}].RecordingSid }
	w.apply(at(1, events.Changed(call(1))), at(2, events.Changed(newer)), at(3, events.Changed(older)))
	if sid() != events.Some("RE2") {
		t.Errorf("shows %v, want the newest", sid())
	}
	w.apply(at(4, events.Changed(unavailable)))
	if sid() != events.Some("RE1") {
		t.Errorf("shows %v, want the newest that is available", sid())
	}
	w.apply(at(5, removed))
	if sid().Valid {
		t.Errorf("shows %v, want none", sid())
	}
}

func TestRecording_OwnerNeverChanges(t *testing.T) {
	w := newWorld()
	w.apply(at(1, events.Changed(recording("RE1", 30, 1))), at(2, events.Changed(recording("RE1", 31, 2))))
	row := w.recordings[fold.RecordingKey{System: id(1), Sid: "RE1"}]
	if w.dead != 1 || row.OwnerRow.ID != id(30) || row.Version != 1 {
		t.Errorf("%d dead letters, row %+v", w.dead, row)
	}
}

func TestDefinition_ComesBackAfterItsDeletion(t *testing.T) {
	w := newWorld()
	extension := func(version int64) events.Event {
		return events.Changed(&events.Extension{ID: id(10), PhoneSystemID: id(1), Version: version})
	}
	deletion := extension(3)
	deletion.State = nil
	mustOutcomes(t, w.apply(
		at(1, extension(1)), at(2, deletion), at(3, extension(2)), at(4, extension(3)), at(5, extension(4)),
	), fold.Applied, fold.Applied, fold.Stale, fold.Stale, fold.Applied)
	if len(w.extensions) != 1 || len(w.tombstones) != 0 {
		t.Errorf("%d rows and %d tombstones, want 1 and 0", len(w.extensions), len(w.tombstones))
	}
}

func TestClock(t *testing.T) {
	var c fold.Clock
	steps := []struct {
		sequence  uint64
		stored    events.Time
		publish   events.Time
		want      events.Time
		wantLift  bool
		situation string
	}{
		{1, 100, 0, 100, false, "a first message"},
		{2, 90, 0, 100, false, "the server's clock stepped back"},
		{3, 150, 200, 150, false, "a message, then an idle watermark at 200"},
		{4, 180, 0, 200, true, "a message stored behind the watermark"},
		{5, 190, 0, 200, false, "another: the clock is there already"},
		{6, 250, 0, 250, false, "the server's clock is ahead again"},
	}
	adjustments := map[uint64]events.Time{}
	for _, step := range steps {
		adjustment := c.Advance(step.sequence, step.stored, nil)
		if c.Now != step.want || (adjustment != nil) != step.wantLift {
			t.Fatalf("%s: clock %d adjustment %v, want %d %v", step.situation, c.Now, adjustment, step.want, step.wantLift)
		}
		if adjustment != nil {
			adjustments[adjustment.Sequence] = adjustment.Time
		}
		c.RaiseWatermark(step.publish)
	}
	var replay fold.Clock
	for _, step := range steps {
		if adjustment := replay.Advance(step.sequence, step.stored, adjustments); adjustment != nil || replay.Now != step.want {
			t.Fatalf("replay at %d: clock %d adjustment %v, want %d", step.sequence, replay.Now, adjustment, step.want)
		}
	}
}

func recording(sid string, call int, version int64) *events.Recording {
	return &events.Recording{
		RecordingSid: sid, PhoneSystemID: id(1), CallID: events.Some(id(call)), Version: version, Status: events.RecordingReady,
	}
}
