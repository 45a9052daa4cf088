package fold

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/webhook"
)

// Notice says that something became fetchable: a request for what it names succeeds from the commit on.
type Notice struct {
	Kind    webhook.Kind
	Key     string // what became fetchable: its event's key
	Version int64  // at which it became fetchable; 0 for the end of a call
	Data    webhook.Data
}

// EventID returns the id of the event that receivers get. It follows from what happened, so a repetition has the same.
func (n Notice) EventID() string { return webhook.ID(n.Kind, n.Data.PhoneSystemID, n.Key, n.Version) }

// artifact identifies what a notice is about, in any version.
type artifact struct {
	kind   webhook.Kind
	system uuid.UUID
	key    string
}

func (n Notice) artifact() artifact { return artifact{n.Kind, n.Data.PhoneSystemID, n.Key} }

// newlyFetchable returns what is fetchable now and was not before.
func newlyFetchable(before, now []Notice) []Notice {
	return slices.DeleteFunc(now, func(n Notice) bool {
		return slices.ContainsFunc(before, func(b Notice) bool { return b.artifact() == n.artifact() })
	})
}

func (s *State) isFetchable(a artifact) bool {
	id := events.Identity{Entity: entityOf(a.kind), System: a.system, Key: a.key}
	return slices.ContainsFunc(s.fetchable(id), func(n Notice) bool { return n.artifact() == a })
}

func entityOf(kind webhook.Kind) events.Entity {
	switch kind {
	case webhook.CallEnded:
		return events.EntityCall
	case webhook.RecordingAvailable:
		return events.EntityRecording
	case webhook.TranscriptionCompleted:
		return events.EntityTranscript
	case webhook.VoicemailCreated:
		return events.EntityVoicemail
	case webhook.AnalysisCompleted:
		return events.EntityAnalysis

	case webhook.Test: // of no entity
	}

	return ""
}

// fetchable returns what an event of an entity can affect and is fetchable now, in the order of [webhook.Kinds].
func (s *State) fetchable(id events.Identity) []Notice {
	if r := s.rules()[id.Entity]; r.fetchable != nil {
		return r.fetchable(id)
	}
	return nil
}

func (s *State) fetchableOfCall(id events.Identity) (list []Notice) {
	key := keyOf(id)
	call, ok := s.CallLogs.Get(key)
	if !ok {
		return nil
	}

	if call.ended() {
		list = append(list, Notice{Kind: webhook.CallEnded, Key: id.Key, Data: call.identifiers()})
	}

	// The order of the index depends on how events were batched, so notices are sorted by key.
	owner := callOwnerRow(key)
	recordings := slices.Clone(s.recordings().index[owner])
	slices.SortFunc(recordings, func(a, b RecordingKey) int { return cmp.Compare(a.Sid, b.Sid) })
	for _, key := range recordings {
		list = append(list, s.fetchableRecording(key)...)
	}

	list = append(list, s.fetchableTranscript(owner)...)
	analyses := slices.Clone(s.analyses().index[owner])
	slices.SortFunc(analyses, func(a, b Key) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	for _, key := range analyses {
		list = append(list, s.fetchableAnalysis(key)...)
	}

	return list
}

// ended tells whether a call log is that of a call which is over. Statuses that are not known say nothing.
func (c CallDetails) ended() bool {
	switch c.Status {
	case "completed", "no-answer", "busy", "failed", "canceled":
		return true
	}
	return c.EndTime.Valid
}

func (c CallLog) identifiers() webhook.Data {
	return webhook.Data{PhoneSystemID: c.System, CallSid: c.CallSid}
}

func (s *State) fetchableRecording(key RecordingKey) []Notice {
	row, ok := s.Recordings.Get(key)
	if !ok || row.Status != events.RecordingReady || row.OwnerRow.Entity != events.EntityCall {
		return nil
	}
	call, ok := s.CallLogs.Get(Key{key.System, row.OwnerRow.ID})
	if !ok {
		return nil
	}
	data := call.identifiers()
	data.RecordingSid = key.Sid
	return []Notice{{Kind: webhook.RecordingAvailable, Key: key.Sid, Version: row.Version, Data: data}}
}

func (s *State) fetchableTranscript(owner OwnerRowKey) []Notice {
	row, ok := s.Transcripts.Get(owner)
	if !ok || row.Status != TranscriptionCompleted {
		return nil
	}
	data, ok := s.ownerIdentifiers(owner)
	if !ok {
		return nil
	}
	return []Notice{{Kind: webhook.TranscriptionCompleted, Key: owner.Key(), Version: row.Version, Data: data}}
}

// ownerIdentifiers returns what names a call or voicemail that is there.
func (s *State) ownerIdentifiers(owner OwnerRowKey) (data webhook.Data, ok bool) {
	key := Key{owner.System, owner.ID}
	if owner.Entity == events.EntityCall {
		call, ok := s.CallLogs.Get(key)
		return webhook.Data{PhoneSystemID: key.System, CallSid: call.CallSid, CallLogID: key.ID}, ok
	}
	voicemail, ok := s.Voicemails.Get(key)
	return webhook.Data{PhoneSystemID: key.System, CallSid: voicemail.CallSid, VoicemailID: key.ID}, ok
}

func (s *State) fetchableOfVoicemail(id events.Identity) []Notice {
	key := keyOf(id)
	row, ok := s.Voicemails.Get(key)
	if !ok {
		return nil
	}
	transcript := s.fetchableTranscript(voicemailOwner(key))
	return append(transcript, Notice{
		Kind: webhook.VoicemailCreated, Key: id.Key, Version: row.Version,
		Data: webhook.Data{PhoneSystemID: key.System, CallSid: row.CallSid, VoicemailID: key.ID},
	})
}

func (s *State) fetchableAnalysis(key Key) []Notice {
	row, ok := s.Analyses.Get(key)
	if !ok || row.Status != events.AnalysisCompleted {
		return nil
	}
	if _, ok := s.CallLogs.Get(Key{key.System, row.CallID}); !ok {
		return nil
	}
	return []Notice{{
		Kind: webhook.AnalysisCompleted, Key: key.ID.String(), Version: row.Version,
		Data: webhook.Data{PhoneSystemID: key.System, CallSid: row.CallSid, CallLogID: row.CallID}, // the sid that analyses are listed by
	}}
}
