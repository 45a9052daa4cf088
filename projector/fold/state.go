package fold

import (
	"errors"

	"github.com/google/uuid"

	"callboard/events"
)

// State is the part of the projection that a batch of events touches. Whoever folds loads into it every row that the events
// name, the rows of what they hang on with all that hangs on those, and the call groups, extensions and representatives that
// those calls and their analyses refer to.
type State struct {
	Partition int16

	PhoneSystems    Table[Key, PhoneSystem] // Key.System is the system's own id
	Groups          Table[Key, Group]
	Extensions      Table[Key, Extension]
	Phones          Table[Key, Phone]
	PhoneNumbers    Table[Key, PhoneNumber]
	AgentConfigs    Table[Key, AgentConfig]
	CallGroups      Table[Key, CallGroup]
	CallMenus       Table[Key, CallMenu]
	Representatives Table[Key, Representative]
	Classifications Table[ClassificationKey, Classification]

	CallLogs          Table[Key, CallLog]
	ExtensionCalls    Table[ExtensionEntry, ExtensionEntry] // never loaded
	Transcripts       Table[OwnerRowKey, Transcript]
	TranscriptTexts   Table[OwnerRowKey, TranscriptText] // never loaded
	Recordings        Table[RecordingKey, Recording]
	Analyses          Table[Key, Analysis]
	ExtensionAnalyses Table[ExtensionEntry, ExtensionEntry] // never loaded
	Voicemails        Table[Key, Voicemail]
	Tombstones        Table[TombstoneKey, Tombstone]

	// Counts and References are the changes of day_count and reference_count; zeros are among them.
	Counts     Deltas[CountKey]
	References Deltas[ReferenceKey]

	recordingsOf owned[RecordingKey]
	analysesOf   owned[Key]
}

// Outcome is what became of an event that could be read.
type Outcome int

// The outcomes.
const (
	Applied Outcome = iota + 1
	Stale           // its version was not above the one applied last
	Ignored         // it is of a deleted call
)

var errUnknownEntity = errors.New("the entity is unknown")

var errOwnerChanged = errors.New("callId or voicemailId differs from what the facet's earlier events said, and may never change")

// Fold applies one event; at is the partition's clock at it. An error is an event that contradicts what is known: it changes
// nothing and is a dead letter.
func (s *State) Fold(e events.Event, at events.Time) (Outcome, error) {
	switch e.Entity {
	case events.EntityPhoneSystem:
		return define(s, &s.PhoneSystems, keyOf(e), e, s.phoneSystem), nil
	case events.EntityGroup:
		return define(s, &s.Groups, keyOf(e), e, group), nil
	case events.EntityExtension:
		return define(s, &s.Extensions, keyOf(e), e, extension), nil
	case events.EntityPhone:
		return define(s, &s.Phones, keyOf(e), e, phone), nil
	case events.EntityPhoneNumber:
		return define(s, &s.PhoneNumbers, keyOf(e), e, phoneNumber), nil
	case events.EntityAgentConfig:
		return define(s, &s.AgentConfigs, keyOf(e), e, agentConfig), nil
	case events.EntityCallGroup:
		return define(s, &s.CallGroups, keyOf(e), e, callGroup), nil
	case events.EntityCallMenu:
		return define(s, &s.CallMenus, keyOf(e), e, callMenu), nil
	case events.EntityRepresentative:
		return define(s, &s.Representatives, keyOf(e), e, representative), nil
	case events.EntityClassification:
		return define(s, &s.Classifications, ClassificationKeyOf(e), e, classification), nil
	case events.EntityCall:
		return s.foldCall(e, at), nil
	case events.EntityTranscript:
		return s.foldTranscript(e, at), nil
	case events.EntityRecording:
		return s.foldRecording(e, at)
	case events.EntityAnalysis:
		return s.foldAnalysis(e, at)
	case events.EntityVoicemail:
		return s.foldVoicemail(e), nil
	}
	return 0, errUnknownEntity
}

func tombstoneKey(id events.Identity) TombstoneKey { return TombstoneKey{id.System, id.Entity, id.Key} }

func (s *State) tombstone(id events.Identity) Tombstone {
	tomb, _ := s.Tombstones.Get(tombstoneKey(id))
	return tomb
}

func (s *State) bury(id events.Identity, owner events.OwnerRow) {
	key := tombstoneKey(id)
	s.Tombstones.Put(key, Tombstone{TombstoneKey: key, Version: id.Version, OwnerRow: owner})
}

// unbury takes a tombstone away: the entity is there again.
func (s *State) unbury(id events.Identity) {
	key := tombstoneKey(id)
	if _, ok := s.Tombstones.Get(key); ok {
		s.Tombstones.Delete(key)
	}
}

// final tells whether a call was deleted: for good.
func (s *State) final(system, call uuid.UUID) bool {
	_, ok := s.Tombstones.Get(TombstoneKey{system, events.EntityCall, call.String()})
	return ok
}

func (s *State) finalOwner(owner OwnerRowKey) bool {
	return owner.Entity == events.EntityCall && s.final(owner.System, owner.ID)
}

// String is the outcome in one lower-case word.
func (o Outcome) String() string {
	switch o {
	case Applied:
		return "applied"
	case Stale:
		return "stale"
	case Ignored:
		return "ignored"
	}
	return "unknown"
}
