package fold_test

import (
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

func TestCall_DeletionIsFinal(t *testing.T) {
	f := newFixture()
	checkOutcomes(t, f.apply(
		at(1, events.Changed(recording("RE1", 30, 1))),
		at(2, events.Changed(call(1))),
		at(3, transcriptEvent("completed:A", 1)),
		at(4, deleted(call(2))),
		at(5, events.Changed(call(9))),
		at(6, transcriptEvent("completed:B", 9)),
		at(7, events.Changed(recording("RE2", 30, 9))),
		at(8, events.Changed(analysis(80, 3, 1))),
	), fold.Applied, fold.Applied, fold.Applied, fold.Applied, fold.Ignored, fold.Ignored, fold.Ignored, fold.Ignored)
	checkNoRows(t, f)
}

func TestCall_ShowsFacetsThatArrivedBeforeIt(t *testing.T) {
	f := newFixture()
	f.apply(at(1, events.Changed(recording("RE1", 30, 1))), at(2, transcriptEvent("completed:A", 1)))
	if len(f.CallLogs) > 0 {
		t.Fatalf("calls before the first event of a call = %v, want none", f.CallLogs)
	}
	f.apply(at(3, events.Changed(call(1))))
	row := f.call()
	if row.RecordingSid != events.Some("RE1") || row.Transcription.Status != fold.TranscriptionCompleted || row.UpdatedAt != 3 {
		t.Errorf("recordingSid = %v, transcription = %s, updatedAt = %d, want RE1, completed and 3",
			row.RecordingSid, row.Transcription.Status, row.UpdatedAt)
	}
	if got := f.Recordings[fold.RecordingKey{System: id(1), Sid: "RE1"}].CallSid; got != events.Some("CA1") {
		t.Errorf("callSid of the recording = %v, want CA1", got)
	}
}

func TestCall_ClearedReference(t *testing.T) {
	group := func(version int64) events.State {
		return &events.CallGroup{ID: id(20), PhoneSystemID: id(1), Version: version}
	}
	extension := func(version int64) events.State {
		return &events.Extension{ID: id(20), PhoneSystemID: id(1), Version: version}
	}
	for name, c := range map[string]struct {
		entry func(version int64) events.State
		refer func(c *events.Call, to events.Null[uuid.UUID])
	}{
		"call group":          {group, func(c *events.Call, to events.Null[uuid.UUID]) { c.CallGroupID = to }},
		"answering extension": {extension, func(c *events.Call, to events.Null[uuid.UUID]) { c.AnsweredByExtensionID = to }},
		"calling extension":   {extension, func(c *events.Call, to events.Null[uuid.UUID]) { c.FromExtensionID = to }},
	} {
		referring, cleared := call(1), call(2)
		c.refer(referring, events.Some(id(20)))

		f := newFixture()
		f.apply(at(1, events.Changed(c.entry(1))), at(2, events.Changed(referring)), at(3, deleted(c.entry(2))), at(4, events.Changed(cleared)))
		row := f.call()
		if row.UpdatedAt != 2 || row.CallGroupID.Valid || row.AnsweredByExtensionID.Valid || row.FromExtensionID.Valid {
			t.Errorf("%s, cleared after its deletion: row = %+v, want updatedAt 2 and no reference", name, row)
		}

		f = newFixture()
		f.apply(at(1, events.Changed(c.entry(1))), at(2, events.Changed(referring)), at(3, events.Changed(cleared)))
		if row := f.call(); row.UpdatedAt != 3 {
			t.Errorf("%s, cleared while it exists: updatedAt = %d, want 3", name, row.UpdatedAt)
		}

		f = newFixture()
		f.apply(at(1, events.Changed(referring)), at(2, events.Changed(c.entry(1))))
		if row := f.call(); row.UpdatedAt != 1 {
			t.Errorf("%s, defined after the call: updatedAt = %d, want 1", name, row.UpdatedAt)
		}

		f = newFixture()
		f.apply(at(1, events.Changed(referring)), at(2, events.Changed(cleared)))
		if row := f.call(); row.UpdatedAt != 2 {
			t.Errorf("%s, cleared before it is defined: updatedAt = %d, want 2", name, row.UpdatedAt)
		}
	}
}

func TestReplaceRow_CreatesADeletedEntityAgain(t *testing.T) {
	f := newFixture()
	extension := func(version int64) events.State {
		return &events.Extension{ID: id(10), PhoneSystemID: id(1), Version: version}
	}
	checkOutcomes(t, f.apply(
		at(1, events.Changed(extension(1))), at(2, deleted(extension(3))), at(3, events.Changed(extension(2))),
		at(4, events.Changed(extension(3))), at(5, events.Changed(extension(4))),
	), fold.Applied, fold.Applied, fold.Stale, fold.Conflicting, fold.Applied)
	if len(f.Topology) != 1 || len(f.Tombstones) != 0 {
		t.Errorf("rows = %d, tombstones = %d, want 1 and 0", len(f.Topology), len(f.Tombstones))
	}
}
