package fold_test

import (
	"testing"

	"callboard/events"
	"callboard/projector/fold"
)

// What a call shows after a sequence of attempts. An upper-case first letter stands for a completed one with that text.
func TestTranscript_Status(t *testing.T) {
	tests := []struct {
		name     string
		statuses []string
		want     string
		text     string
	}{
		{"nothing ever", nil, fold.TranscriptionUnavailable, ""},
		{"queued", []string{"queued"}, fold.TranscriptionProcessing, ""},
		{"running", []string{"queued", "running"}, fold.TranscriptionProcessing, ""},
		{"failed", []string{"queued", "failed"}, fold.TranscriptionFailed, ""},
		{"failed is left by no new attempt", []string{"failed", "queued", "running"}, fold.TranscriptionFailed, ""},
		{"failed is left by text", []string{"failed", "queued", "completed:A"}, fold.TranscriptionCompleted, "A"},
		{"failed has nothing to remove", []string{"failed", "removed"}, fold.TranscriptionFailed, ""},
		{"skipped", []string{"skipped"}, fold.TranscriptionUnavailable, ""},
		{"unavailable is left by no new attempt", []string{"skipped", "queued", "failed"}, fold.TranscriptionUnavailable, ""},
		{"unavailable is left by text", []string{"removed", "completed:A"}, fold.TranscriptionCompleted, "A"},
		{"text stays while it is transcribed again", []string{"completed:A", "queued", "running", "failed"}, fold.TranscriptionCompleted, "A"},
		{"skipped over stored text changes nothing", []string{"completed:A", "skipped"}, fold.TranscriptionCompleted, "A"},
		{"new text replaces", []string{"completed:A", "completed:B"}, fold.TranscriptionCompleted, "B"},
		{"text can be empty", []string{"completed:"}, fold.TranscriptionCompleted, ""},
		{"removed", []string{"completed:A", "removed"}, fold.TranscriptionUnavailable, ""},
		{"deleted does what removed does", []string{"completed:A", "deleted"}, fold.TranscriptionUnavailable, ""},
		{"removed, then queued", []string{"completed:A", "removed", "queued"}, fold.TranscriptionUnavailable, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld()
			w.apply(at(1, events.Changed(call(1))))
			for i, status := range test.statuses {
				w.apply(at(events.Time(i+2), attempt(status, int64(i+1))))
			}
			row := w.callLogs[fold.Key{System: id(1), ID: id(30)}]
			if row.Transcription.Status != test.want {
				t.Errorf("status %q, want %q", row.Transcription.Status, test.want)
			}
			text, stored := w.transcriptTexts[callOwner()]
			if stored != (test.want == fold.TranscriptionCompleted) || text.Text != test.text {
				t.Errorf("stored %v %q, want %q", stored, text.Text, test.text)
			}
		})
	}
}

func TestTranscript_TurnsWithoutTextCreateNothing(t *testing.T) {
	w := newWorld()
	e := attempt("completed:", 1)
	state := e.State.(*events.Transcript)
	state.Text = events.Null[string]{}
	state.Turns = []events.Turn{{Text: "hello", Speaker: events.Speaker{Kind: "unattributed"}}}
	w.apply(at(1, e))
	if got := w.transcriptTexts[callOwner()]; got.Text != "" || got.Turns != "[]" {
		t.Errorf("stored %+v, want empty text and no turns", got)
	}
}

func TestTranscript_TurnsAreStoredInTheContractsShape(t *testing.T) {
	w := newWorld()
	e := attempt("completed:Hello.", 1)
	e.State.(*events.Transcript).Turns = []events.Turn{
		{Text: "Hello.", Speaker: events.Speaker{Kind: "role", Role: "agent"}, StartSeconds: events.Some(0.5)},
		{Text: "Hi", Speaker: events.Speaker{Kind: "numbered", Ordinal: events.Some[int64](0)}},
		{Text: "?", Speaker: events.Speaker{Kind: "unattributed"}},
	}
	w.apply(at(1, e))
	const want = `[{"text":"Hello.","speaker":{"kind":"role","role":"agent"},"startSeconds":0.5,"endSeconds":null,"confidence":null},` +
		`{"text":"Hi","speaker":{"kind":"numbered","ordinal":0},"startSeconds":null,"endSeconds":null,"confidence":null},` +
		`{"text":"?","speaker":{"kind":"unattributed"},"startSeconds":null,"endSeconds":null,"confidence":null}]`
	if got := w.transcriptTexts[callOwner()].Turns; got != want {
		t.Errorf("turns\n%s, want\n%s", got, want)
	}
}

func callOwner() fold.OwnerRowKey {
	return fold.OwnerRowKey{System: id(1), OwnerRow: events.OwnerRow{Entity: events.EntityCall, ID: id(30)}}
}

func call(version int64) *events.Call {
	return &events.Call{ID: id(30), PhoneSystemID: id(1), Version: version, CallSid: "CA1", Direction: "inbound", Status: "completed"}
}

// attempt is a transcript event: a status, "completed:<text>" or "deleted".
func attempt(status string, version int64) events.Event {
	t := &events.Transcript{PhoneSystemID: id(1), CallID: events.Some(id(30)), Version: version, Status: status}
	if len(status) >= 10 && status[:10] == "completed:" {
		t.Status, t.Text = "completed", events.Some(status[10:])
	}
	e := events.Changed(t)
	if status == "deleted" {
		e.State = nil
	}
	return e
}
