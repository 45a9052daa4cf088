package fold

import (
	"errors"

	"github.com/google/uuid"

	"callboard/events"
)

// State is the part of the projection that a batch of events touches. Whoever folds loads into it every row that the events
// name, the rows of what they hang on, and the call groups and extensions that those calls refer to.
type State struct {
	Partition int16

	PhoneSystems    Table[Key, PhoneSystem] // Key.System is the system's own id
	Groups          Table[Key, Group]
	Extensions      Table[Key, Extension]
	CallGroups      Table[Key, CallGroup]
	CallLogs        Table[Key, CallLog]
	ExtensionCalls  Table[ExtensionCall, ExtensionCall] // never loaded
	Transcripts     Table[OwnerKey, Transcript]
	TranscriptTexts Table[OwnerKey, TranscriptText] // never loaded
	Recordings      Table[RecordingKey, Recording]
	Tombstones      Table[TombstoneKey, Tombstone]

	// Counts are the changes of day_count; zeros are among them.
	Counts map[CountKey]int64

	recordingsOf map[OwnerKey][]RecordingKey
}

// Outcome is what became of an event that could be read.
type Outcome int

// The outcomes.
const (
	Applied Outcome = iota + 1
	Stale           // its version was not above the one applied last
	Ignored         // it is of a deleted call, or of an entity that the projection does not keep
)

var errOwnerChanged = errors.New("callId or voicemailId differs from what the facet's earlier events said, and may never change")

// Fold applies one event; at is the partition's clock at it. An error is an event that contradicts what is known: it changes
// nothing and is a dead letter.
func (s *State) Fold(e events.Event, at events.Time) (Outcome, error) {
	switch e.Entity {
	case events.EntityPhoneSystem:
		return define(s, &s.PhoneSystems, e, s.phoneSystem), nil
	case events.EntityGroup:
		return define(s, &s.Groups, e, group), nil
	case events.EntityExtension:
		return define(s, &s.Extensions, e, extension), nil
	case events.EntityCallGroup:
		return define(s, &s.CallGroups, e, callGroup), nil
	case events.EntityCall:
		return s.foldCall(e, at), nil
	case events.EntityTranscript:
		return s.foldTranscript(e, at), nil
	case events.EntityRecording:
		return s.foldRecording(e, at)
	default:
		return Ignored, nil
	}
}

// LoadRecording adds a recording as it stands in the database.
func (s *State) LoadRecording(row Recording) {
	s.Recordings.Load(row.RecordingKey, row)
	s.own(OwnerKey{row.System, row.Owner}, row.RecordingKey)
}

type versioned interface {
	comparable
	version() int64
}

// define applies an event of an entity that nothing hangs on: the newest state is the row.
func define[R versioned, S any](s *State, t *Table[Key, R], e events.Event, row func(S) R) Outcome {
	key := keyOf(e)
	before, _ := t.Get(key)
	if e.Version <= max(before.version(), s.tombstone(e.Identity).Version) {
		return Stale
	}
	if e.Deleted() {
		t.Delete(key)
		s.bury(e.Identity, events.Owner{})
		return Applied
	}
	s.unbury(e.Identity)
	t.Put(key, row(e.State.(S)))
	return Applied
}

// keyOf is the key of an event whose entity has a UUID.
func keyOf(e events.Event) Key {
	id, _ := uuid.Parse(e.Key)
	return Key{e.System, id}
}

func tombstoneKey(id events.Identity) TombstoneKey { return TombstoneKey{id.System, id.Entity, id.Key} }

func (s *State) tombstone(id events.Identity) Tombstone {
	tomb, _ := s.Tombstones.Get(tombstoneKey(id))
	return tomb
}

func (s *State) bury(id events.Identity, owner events.Owner) {
	key := tombstoneKey(id)
	s.Tombstones.Put(key, Tombstone{TombstoneKey: key, Version: id.Version, Owner: owner})
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

func (s *State) finalOwner(owner OwnerKey) bool {
	return owner.Entity == events.EntityCall && s.final(owner.System, owner.ID)
}

func (s *State) count(key CountKey, by int64) {
	if s.Counts == nil {
		s.Counts = make(map[CountKey]int64)
	}
	s.Counts[key] += by
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
