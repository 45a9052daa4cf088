package fold

import (
	"crypto/sha256"

	"callboard/events"
)

// The transcription statuses that a call or voicemail shows.
const (
	TranscriptionCompleted   = "completed"
	TranscriptionProcessing  = "processing"
	TranscriptionFailed      = "failed"
	TranscriptionUnavailable = "unavailable"
)

// Transcription is the part of a transcript that its call or voicemail shows: the status, and the identity of the
// stored text.
type Transcription struct {
	Status     string
	Digest     events.Null[[sha256.Size]byte] // of text and turns; null without a stored text
	TextBytes  events.Null[int64]
	TurnsBytes events.Null[int64]
}

// Transcript is a row of transcript.
type Transcript struct {
	OwnerRowKey
	Version       int64 `db:"version"`
	Transcription `db:"status,digest,text_bytes,turns_bytes"`
}

// TranscriptText is a row of transcript_text: the stored text, and its turns as JSON text. It is written but never
// loaded.
type TranscriptText struct {
	OwnerRowKey
	Text  string `db:"text"`
	Turns JSON   `db:"turns"`
}

func transcriptOwner(id events.Identity) OwnerRowKey {
	owner, _ := events.ParseOwnerRow(id.Key)
	return OwnerRowKey{id.System, owner}
}

// needTranscript asks for a transcript and its call or voicemail, which a notice names.
func (s *State) needTranscript(e events.Event) {
	owner := transcriptOwner(e.Identity)
	s.needOwnerRow(owner)
	if owner.Entity == events.EntityVoicemail {
		s.Voicemails.need(Key{owner.System, owner.ID})
	}
}

func (s *State) applyTranscript(e events.Event, at events.Time) (Outcome, error) {
	owner := transcriptOwner(e.Identity)
	if s.ownerRowDeleted(owner) {
		return Ignored, nil
	}

	// Where only a tombstone has the version, there is no content that an event could contradict.
	row, _ := s.Transcripts.Get(owner)
	if stored := max(row.Version, s.tombstone(e.Identity).Version); e.Version < stored || e.Version == stored &&
		row.Version == 0 {
		return Stale, nil
	}

	next, text := s.nextTranscription(owner, row.Transcription, e)
	if e.Version == row.Version {
		return staleOr(next != row.Transcription), nil
	}

	s.storeText(owner, row.Transcription, next, text)
	row.OwnerRowKey, row.Version, row.Transcription = owner, e.Version, next

	s.clearTombstone(e.Identity)
	s.Transcripts.Put(owner, row)
	s.recomputeOwner(owner, at)
	return Applied, nil
}

// nextTranscription returns the transcription after an event, and the text that it stores, if any.
func (s *State) nextTranscription(
	owner OwnerRowKey, now Transcription, e events.Event,
) (next Transcription, text TranscriptText) {
	switch {
	case e.Deleted():
		return now.withoutText(events.TranscriptRemoved), text
	case e.State.(*events.Transcript).Status != events.TranscriptCompleted:
		return now.withoutText(e.State.(*events.Transcript).Status), text
	}
	text = s.transcriptText(owner, e.State.(*events.Transcript))
	return s.transcription(text), text
}

// storeText writes or deletes the stored text where the transcription has another one.
func (s *State) storeText(owner OwnerRowKey, before, next Transcription, text TranscriptText) {
	switch {
	case next.Digest == before.Digest:
	case next.Digest.Valid:
		s.TranscriptTexts.Put(owner, text)
	default:
		s.TranscriptTexts.Delete(owner)
	}
}

// withoutText returns the transcription after an event with this status that stores no text.
func (t Transcription) withoutText(status string) Transcription {
	// Only a removal changes a completed transcript here, and nothing changes a failed or unavailable transcript.
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

// orUnavailable returns the transcription, or unavailable where there was no attempt.
func (t Transcription) orUnavailable() Transcription {
	if t.Status == "" {
		t.Status = TranscriptionUnavailable
	}
	return t
}

// transcriptText returns the row that a completed transcript stores. Without a text, the row has an empty text and
// no turns.
func (s *State) transcriptText(owner OwnerRowKey, t *events.Transcript) TranscriptText {
	turns := t.Turns
	if !t.Text.Valid {
		turns = nil
	}
	s.buffer = appendTurns(s.buffer[:0], turns)
	return TranscriptText{OwnerRowKey: owner, Text: t.Text.Value, Turns: JSON(s.buffer)}
}

func (s *State) transcription(t TranscriptText) Transcription {
	s.buffer = append(s.buffer[:0], t.Text...)
	s.buffer = append(s.buffer, 0) // separates the two: a text cannot contain NUL
	s.buffer = append(s.buffer, t.Turns...)
	return Transcription{
		Status:     TranscriptionCompleted,
		Digest:     events.Some(sha256.Sum256(s.buffer)),
		TextBytes:  events.Some(int64(len(t.Text))),
		TurnsBytes: events.Some(int64(len(t.Turns))),
	}
}

// removeTranscript removes the transcript of a deleted call or voicemail. Only a voicemail's leaves a tombstone,
// because a deleted voicemail can be created again.
func (s *State) removeTranscript(owner OwnerRowKey) {
	transcript, ok := s.Transcripts.Get(owner)
	if !ok {
		return
	}

	s.Transcripts.Delete(owner)
	if transcript.Digest.Valid {
		s.TranscriptTexts.Delete(owner)
	}

	if owner.Entity == events.EntityVoicemail {
		s.addTombstone(events.Identity{
			Entity: events.EntityTranscript, System: owner.System, Key: owner.Key(), Version: transcript.Version,
		}, events.OwnerRow{})
	}
}
