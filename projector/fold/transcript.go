package fold

import (
	"crypto/sha256"

	"callboard/events"
)

// Transcription statuses as served.
const (
	TranscriptionCompleted   = "completed"
	TranscriptionProcessing  = "processing"
	TranscriptionFailed      = "failed"
	TranscriptionUnavailable = "unavailable"
)

// Transcription is what a call or voicemail shows of its transcript: whether text can be had now, and which.
type Transcription struct {
	Status     string
	Digest     events.Null[[sha256.Size]byte] // of text and turns, where a text is stored
	TextBytes  events.Null[int64]
	TurnsBytes events.Null[int64]
}

// Transcript is a row of transcript.
type Transcript struct {
	OwnerRowKey
	Version int64
	Transcription
}

// TranscriptText is a row of transcript_text: the stored text and its turns as JSON text. It is written and never loaded.
type TranscriptText struct {
	OwnerRowKey
	Text  string
	Turns string
}

// foldTranscript applies an event of a transcript.
func (s *State) foldTranscript(e events.Event, at events.Time) Outcome {
	parsed, _ := events.ParseOwnerRow(e.Key)
	owner := OwnerRowKey{e.System, parsed}
	if s.finalOwner(owner) {
		return Ignored
	}
	row, _ := s.Transcripts.Get(owner)
	if e.Version <= max(row.Version, s.tombstone(e.Identity).Version) {
		return Stale
	}
	row.OwnerRowKey, row.Version = owner, e.Version
	row.Transcription = s.transcribe(owner, row.Transcription, e)
	s.unbury(e.Identity)
	s.Transcripts.Put(owner, row)
	s.settleOwner(owner, at)
	return Applied
}

// transcribe is the transcription after an event, and writes or removes the text with it.
func (s *State) transcribe(owner OwnerRowKey, now Transcription, e events.Event) Transcription {
	status := events.TranscriptRemoved
	if !e.Deleted() {
		status = e.State.(*events.Transcript).Status
	}
	if status == events.TranscriptCompleted {
		text := transcriptText(owner, e.State.(*events.Transcript))
		next := text.transcription()
		if next != now {
			s.TranscriptTexts.Put(owner, text)
		}
		return next
	}
	next := now.attempted(status)
	if now.Digest.Valid && !next.Digest.Valid {
		s.TranscriptTexts.Delete(owner)
	}
	return next
}

// attempted is the transcription after an attempt that left no text.
func (t Transcription) attempted(status string) Transcription {
	switch t.Status {
	case TranscriptionCompleted:
		if status == events.TranscriptRemoved {
			return Transcription{Status: TranscriptionUnavailable}
		}
		return t
	case TranscriptionFailed, TranscriptionUnavailable:
		return t
	}
	switch status {
	case events.TranscriptQueued, events.TranscriptRunning:
		return Transcription{Status: TranscriptionProcessing}
	case events.TranscriptFailed:
		return Transcription{Status: TranscriptionFailed}
	}
	return Transcription{Status: TranscriptionUnavailable}
}

// orUnavailable is the transcription as served where none was ever attempted.
func (t Transcription) orUnavailable() Transcription {
	if t.Status == "" {
		t.Status = TranscriptionUnavailable
	}
	return t
}

// transcriptText is what a completed transcript stores: its text, "" where it has none, and turns only beside a text.
func transcriptText(owner OwnerRowKey, t *events.Transcript) TranscriptText {
	turns := t.Turns
	if !t.Text.Valid {
		turns = nil
	}
	return TranscriptText{OwnerRowKey: owner, Text: t.Text.Value, Turns: array(turns)}
}

func (t TranscriptText) transcription() Transcription {
	h := sha256.New()
	h.Write([]byte(t.Text))
	h.Write([]byte{0}) // no text holds NUL
	h.Write([]byte(t.Turns))
	return Transcription{
		Status:     TranscriptionCompleted,
		Digest:     events.Some([sha256.Size]byte(h.Sum(nil))),
		TextBytes:  events.Some(int64(len(t.Text))),
		TurnsBytes: events.Some(int64(len(t.Turns))),
	}
}

// endTranscript removes an owner's transcript. That of a call can't come back; for one of a voicemail, which can, the version stays.
func (s *State) endTranscript(owner OwnerRowKey) {
	transcript, ok := s.Transcripts.Get(owner)
	if !ok {
		return
	}
	s.Transcripts.Delete(owner)
	if transcript.Digest.Valid {
		s.TranscriptTexts.Delete(owner)
	}
	if owner.Entity == events.EntityVoicemail {
		s.bury(events.Identity{
			Entity: events.EntityTranscript, System: owner.System, Key: owner.Key(), Version: transcript.Version,
		}, events.OwnerRow{})
	}
}
