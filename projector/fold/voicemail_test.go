package fold_test

import (
	"testing"

	"callboard/events"
	"callboard/projector/fold"
)

func voicemail(version int64) *events.Voicemail {
	return &events.Voicemail{ID: id(40), PhoneSystemID: id(1), Version: version, CallSid: "CA1", RecordingSid: "RE1"}
}

func ofVoicemail() (*events.Recording, *events.Transcript) {
	sound := recording("RE1", 30, 1)
	sound.CallID, sound.VoicemailID = sound.VoicemailID, events.Some(id(40))
	return sound, &events.Transcript{
		PhoneSystemID: id(1), VoicemailID: events.Some(id(40)), Version: 1, Status: events.TranscriptCompleted, Text: events.Some("Hi."),
	}
}

func TestVoicemail_DeletionRemovesItsFacets(t *testing.T) {
	w := newWorld()
	sound, words := ofVoicemail()
	gone := events.Changed(voicemail(2))
	gone.State = nil
	w.apply(at(1, events.Changed(sound)), at(2, events.Changed(voicemail(1))), at(3, events.Changed(words)))
	if len(w.voicemails) != 1 || len(w.recordings) != 1 || len(w.transcriptTexts) != 1 || len(w.counts) != 1 {
		t.Fatalf("%d voicemails, %d recordings, %d texts, counts %v", len(w.voicemails), len(w.recordings), len(w.transcriptTexts), w.counts)
	}
	w.apply(at(4, gone))
	if n := len(w.voicemails) + len(w.recordings) + len(w.transcripts) + len(w.transcriptTexts) + len(w.counts); n > 0 {
		t.Errorf("%d rows are left", n)
	}
	mustOutcomes(t, w.apply(at(5, events.Changed(sound)), at(6, events.Changed(words)), at(7, events.Changed(voicemail(1)))),
		fold.Stale, fold.Stale, fold.Stale)
}

// A voicemail may come back, as a call may not; what hung on it before doesn't.
func TestVoicemail_ComesBackBare(t *testing.T) {
	w := newWorld()
	sound, words := ofVoicemail()
	gone := events.Changed(voicemail(2))
	gone.State = nil
	w.apply(at(1, events.Changed(sound)), at(2, events.Changed(voicemail(1))), at(3, events.Changed(words)), at(4, gone),
		at(5, events.Changed(voicemail(3))))
	if len(w.voicemails) != 1 || len(w.recordings)+len(w.transcripts) > 0 || len(w.counts) != 1 {
		t.Fatalf("%d voicemails, %d recordings, %d transcripts", len(w.voicemails), len(w.recordings), len(w.transcripts))
	}
	words.Version, words.Status, words.Text = 2, events.TranscriptQueued, events.Null[string]{}
	w.apply(at(6, events.Changed(words)))
	if row := w.transcripts[fold.OwnerRowKey{System: id(1), OwnerRow: words.OwnerRow()}]; row.Status != fold.TranscriptionProcessing {
		t.Errorf("a new attempt reads %q", row.Status)
	}
}
