package fold_test

import (
	"testing"

	"callboard/events"
	"callboard/projector/fold"
)

func TestRecording_CallShowsTheNewestAvailable(t *testing.T) {
	unavailable := recording("RE2", 30, 2)
	unavailable.Status = events.RecordingUnavailable
	older, newer := recording("RE1", 30, 1), recording("RE2", 30, 1)
	older.CreatedAt, newer.CreatedAt = 10, 20

	f := newFixture()
	for i, step := range []struct {
		name  string
		event events.Event
		want  events.Null[string]
	}{
		{"no recording", events.Changed(call(1)), events.Null[string]{}},
		{"a recording", events.Changed(newer), events.Some("RE2")},
		{"an older one", events.Changed(older), events.Some("RE2")},
		{"the newest becomes unavailable", events.Changed(unavailable), events.Some("RE1")},
		{"the other is deleted", deleted(recording("RE1", 30, 2)), events.Null[string]{}},
	} {
		f.apply(at(events.Time(i+1), step.event))
		if got := f.call().RecordingSid; got != step.want {
			t.Errorf("%s: recordingSid = %v, want %v", step.name, got, step.want)
		}
	}
}

func TestRecording_ForAnotherCallIsADeadLetter(t *testing.T) {
	f := newFixture()
	f.apply(at(1, events.Changed(recording("RE1", 30, 1))), at(2, events.Changed(recording("RE1", 31, 2))))
	row := f.Recordings[fold.RecordingKey{System: id(1), Sid: "RE1"}]
	if f.DeadLetters != 1 || row.OwnerRow.ID != id(30) || row.Version != 1 {
		t.Errorf("dead letters = %d, call = %s, version = %d, want 1, %s and 1", f.DeadLetters, row.OwnerRow.ID, row.Version, id(30))
	}
}

// voicemailFacets returns the recording and the transcript of the voicemail.
func voicemailFacets() (*events.Recording, *events.Transcript) {
	r := recording("RE1", 30, 1)
	r.CallID, r.VoicemailID = r.VoicemailID, events.Some(id(40))
	return r, &events.Transcript{
		PhoneSystemID: id(1), VoicemailID: events.Some(id(40)), Version: 1, Status: events.TranscriptCompleted, Text: events.Some("Hi."),
	}
}

func TestVoicemail_DeletionRemovesItsFacets(t *testing.T) {
	f := newFixture()
	r, transcript := voicemailFacets()
	f.apply(at(1, events.Changed(r)), at(2, events.Changed(voicemail(1))), at(3, events.Changed(transcript)))
	if len(f.Voicemails) != 1 || len(f.Recordings) != 1 || len(f.TranscriptTexts) != 1 || len(f.Counts) != 1 {
		t.Fatalf("voicemails = %d, recordings = %d, texts = %d, counters = %v, want one each",
			len(f.Voicemails), len(f.Recordings), len(f.TranscriptTexts), f.Counts)
	}
	f.apply(at(4, deleted(voicemail(2))))
	checkNoRows(t, f)
	checkOutcomes(t, f.apply(at(5, events.Changed(r)), at(6, events.Changed(transcript)), at(7, events.Changed(voicemail(1)))),
		fold.Stale, fold.Stale, fold.Stale)
}

func TestVoicemail_CreatedAgainHasNoneOfItsFormerFacets(t *testing.T) {
	f := newFixture()
	r, transcript := voicemailFacets()
	f.apply(at(1, events.Changed(r)), at(2, events.Changed(voicemail(1))), at(3, events.Changed(transcript)),
		at(4, deleted(voicemail(2))), at(5, events.Changed(voicemail(3))))
	if len(f.Voicemails) != 1 || len(f.Recordings)+len(f.Transcripts) > 0 || len(f.Counts) != 1 {
		t.Fatalf("voicemails = %d, recordings = %d, transcripts = %d, counters = %d, want 1, 0, 0 and 1",
			len(f.Voicemails), len(f.Recordings), len(f.Transcripts), len(f.Counts))
	}
	transcript.Version, transcript.Status, transcript.Text = 2, events.TranscriptQueued, events.Null[string]{}
	f.apply(at(6, events.Changed(transcript)))
	got := f.Transcripts[fold.OwnerRowKey{System: id(1), OwnerRow: transcript.OwnerRow()}].Status
	if got != fold.TranscriptionProcessing {
		t.Errorf("transcription after a new attempt = %q, want processing", got)
	}
}
