package fold_test

import (
	"testing"

	"callboard/events"
	"callboard/projector/fold"
)

// The statuses are arguments of transcriptEvent.
func TestTranscript_Status(t *testing.T) {
	tests := []struct {
		name     string
		statuses []string
		want     string
		text     string
	}{
		{"no attempt", nil, fold.TranscriptionUnavailable, ""},
		{"queued", []string{"queued"}, fold.TranscriptionProcessing, ""},
		{"running", []string{"queued", "running"}, fold.TranscriptionProcessing, ""},
		{"failed", []string{"queued", "failed"}, fold.TranscriptionFailed, ""},
		{"a new attempt does not leave failed", []string{"failed", "queued", "running"}, fold.TranscriptionFailed, ""},
		{"a text leaves failed", []string{"failed", "queued", "completed:A"}, fold.TranscriptionCompleted, "A"},
		{"skipped does not leave failed", []string{"failed", "skipped"}, fold.TranscriptionFailed, ""},
		{"failed has nothing to remove", []string{"failed", "removed"}, fold.TranscriptionFailed, ""},
		{"skipped", []string{"skipped"}, fold.TranscriptionUnavailable, ""},
		{"a new attempt does not leave unavailable", []string{"skipped", "queued", "running", "failed"}, fold.TranscriptionUnavailable, ""},
		{"a text leaves unavailable", []string{"removed", "completed:A"}, fold.TranscriptionCompleted, "A"},
		{"a new attempt keeps the text", []string{"completed:A", "queued", "running", "failed"}, fold.TranscriptionCompleted, "A"},
		{"skipped keeps the text", []string{"completed:A", "skipped"}, fold.TranscriptionCompleted, "A"},
		{"the text of an attempt that runs does not replace it", []string{"completed:A", "running:B"}, fold.TranscriptionCompleted, "A"},
		{"a new text replaces the old one", []string{"completed:A", "completed:B"}, fold.TranscriptionCompleted, "B"},
		{"the text can be empty", []string{"completed:"}, fold.TranscriptionCompleted, ""},
		{"removed", []string{"completed:A", "removed"}, fold.TranscriptionUnavailable, ""},
		{"deleted acts as removed", []string{"completed:A", "deleted"}, fold.TranscriptionUnavailable, ""},
		{"a new attempt does not leave removed", []string{"completed:A", "removed", "queued", "running", "failed"}, fold.TranscriptionUnavailable, ""},
		{"a text leaves removed", []string{"completed:A", "removed", "completed:B"}, fold.TranscriptionCompleted, "B"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture()
			f.apply(at(1, events.Changed(call(1))))
			for i, status := range test.statuses {
				f.apply(at(events.Time(i+2), transcriptEvent(status, int64(i+1))))
			}
			row := f.call()
			if row.Transcription.Status != test.want {
				t.Errorf("status = %q, want %q", row.Transcription.Status, test.want)
			}
			text, stored := f.TranscriptTexts[callOwnerRow()]
			wantStored := test.want == fold.TranscriptionCompleted
			if stored != wantStored || text.Text != test.text {
				t.Errorf("stored = %t, text = %q, want %t, %q", stored, text.Text, wantStored, test.text)
			}
		})
	}
}

func TestTranscript_TurnsWithoutTextAreNotStored(t *testing.T) {
	f := newFixture()
	e := transcriptEvent("completed:", 1)
	state := e.State.(*events.Transcript)
	state.Text = events.Null[string]{}
	state.Turns = []events.Turn{{Text: "hello", Speaker: events.Speaker{Kind: "unattributed"}}}
	f.apply(at(1, e))
	if got := f.TranscriptTexts[callOwnerRow()]; got.Text != "" || got.Turns != "[]" {
		t.Errorf("text = %q, turns = %s, want empty text and no turns", got.Text, got.Turns)
	}
}

func TestTranscript_TurnsAreStoredInTheContractsForm(t *testing.T) {
	f := newFixture()
	e := transcriptEvent("completed:Hello.", 1)
	e.State.(*events.Transcript).Turns = []events.Turn{
		{Text: "Hello.", Speaker: events.Speaker{Kind: "role", Role: "agent"}, StartSeconds: events.Some(0.5)},
		{Text: "Hi", Speaker: events.Speaker{Kind: "numbered", Ordinal: events.Some[int64](0)}},
		{Text: "?", Speaker: events.Speaker{Kind: "unattributed"}},
	}
	f.apply(at(1, e))
	const want = `[{"text":"Hello.","speaker":{"kind":"role","role":"agent"},"startSeconds":0.5,"endSeconds":null,"confidence":null},` +
		`{"text":"Hi","speaker":{"kind":"numbered","ordinal":0},"startSeconds":null,"endSeconds":null,"confidence":null},` +
		`{"text":"?","speaker":{"kind":"unattributed"},"startSeconds":null,"endSeconds":null,"confidence":null}]`
	if got := f.TranscriptTexts[callOwnerRow()].Turns; got != want {
		t.Errorf("turns =\n%s, want\n%s", got, want)
	}
}
