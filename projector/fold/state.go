package fold

import (
	"errors"

	"github.com/google/uuid"

	"callboard/events"
)

// State is the part of the projection that a batch of events touches. Before it folds, the caller loads three
// groups of rows: the rows that [State.Need] asks for; all recordings and analyses of the calls and voicemails
// among them; and the tombstones of the call groups, extensions and representatives to which those calls and their
// analyses refer.
type State struct {
	Partition int16 // of all rows

	PhoneSystems    Table[uuid.UUID, PhoneSystem]
	Groups          Table[uuid.UUID, Group]
	GroupMembers    Table[GroupMember, GroupMember] // never loaded
	Topology        Table[TopologyKey, Topology]
	Representatives Table[Key, Representative]
	Classifications Table[ClassificationKey, Classification]

	CallLogs         Table[Key, CallLog]
	Transcripts      Table[OwnerRowKey, Transcript]
	TranscriptTexts  Table[OwnerRowKey, TranscriptText] // never loaded
	Recordings       Table[RecordingKey, Recording]
	Analyses         Table[Key, Analysis]
	ExtensionEntries Table[ExtensionEntry, ExtensionEntry] // never loaded
	Voicemails       Table[Key, Voicemail]
	Tombstones       Table[TombstoneKey, Tombstone]

	Counts Counts

	// GlobalDirectory is how many events have changed what rows of other tables show of the global classifications.
	GlobalDirectory int64

	// Notify says whether the fold derives notices. Notices are those of the event that was folded last.
	Notify  bool
	Notices []Notice

	byEntity     map[events.Entity]rule
	buffer       []byte // of a transcript's text
	recordingsOf facetIndex[RecordingKey]
	analysesOf   facetIndex[Key]
}

// Outcome is the result of folding an event.
type Outcome int

// The outcomes.
const (
	Applied     Outcome = iota + 1
	Stale               // the version is not above the one last applied
	Ignored             // the event belongs to a deleted call
	Conflicting         // stale: the version is the one last applied, and the event would make another row
)

var (
	errUnknownEntity   = errors.New("the entity is unknown")
	errOwnerRowChanged = errors.New("callId or voicemailId differs from that of the facet's earlier events and must not " +
		"change")
)

// Apply applies one event; at is the partition's clock at the event. An error means that the event contradicts
// earlier ones: it changes nothing, and the caller stores it as a dead letter.
func (s *State) Apply(e events.Event, at events.Time) (Outcome, error) {
	s.Notices = nil
	if !s.Notify {
		return s.apply(e, at)
	}
	before := s.fetchable(e.Identity)
	outcome, err := s.apply(e, at)
	if outcome == Applied {
		s.Notices = newlyFetchable(before, s.fetchable(e.Identity))
	}
	return outcome, err
}

func (s *State) apply(e events.Event, at events.Time) (Outcome, error) {
	r, ok := s.rules()[e.Entity]
	if !ok {
		return 0, errUnknownEntity
	}
	return r.apply(e, at)
}

// staleOr returns Conflicting where an event with the stored version has other content, else Stale. Content that
// makes the same row is the same.
func staleOr(conflicting bool) Outcome {
	if conflicting {
		return Conflicting
	}
	return Stale
}

func tombstoneKey(id events.Identity) TombstoneKey { return TombstoneKey{id.System, id.Entity, id.Key} }

// tombstone returns the zero Tombstone, whose version is 0, where there is none.
func (s *State) tombstone(id events.Identity) Tombstone {
	row, _ := s.Tombstones.Get(tombstoneKey(id))
	return row
}

// addTombstone records the deletion of an entity at the version of id. owner is zero unless the entity is a facet.
func (s *State) addTombstone(id events.Identity, owner events.OwnerRow) {
	key := tombstoneKey(id)
	s.Tombstones.Put(key, Tombstone{TombstoneKey: key, Version: id.Version, OwnerRow: owner})
}

func (s *State) clearTombstone(id events.Identity) {
	key := tombstoneKey(id)
	if _, ok := s.Tombstones.Get(key); ok {
		s.Tombstones.Delete(key)
	}
}

// callDeleted looks for the call first, which costs less than its tombstone: the deletion is final, so a call has
// only one of the two.
func (s *State) callDeleted(system, call uuid.UUID) bool {
	return !s.CallLogs.has(Key{system, call}) && s.Tombstones.has(TombstoneKey{system, events.EntityCall, call.String()})
}

// ownerRowDeleted is always false for a voicemail: its deletion is not final.
func (s *State) ownerRowDeleted(owner OwnerRowKey) bool {
	return owner.Entity == events.EntityCall && s.callDeleted(owner.System, owner.ID)
}

// String returns the outcome as one lower-case word.
func (o Outcome) String() string {
	return [...]string{"unknown", "applied", "stale", "ignored", "conflicting"}[o]
}
