package store

import (
	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

// touched are the keys of the rows that a batch of events needs, each key once.
type touched struct {
	keysByEntity    map[events.Entity]*set[fold.Key] // of entities with a UUID, without calls and facets
	classifications set[fold.ClassificationKey]
	calls           set[fold.Key]
	owners          set[fold.OwnerRowKey]
	recordings      set[fold.RecordingKey]
	analyses        set[fold.Key]
	tombstones      set[fold.TombstoneKey]

	// Deletions don't name the call or voicemail of the facet.
	deletedRecordings set[fold.RecordingKey]
	deletedAnalyses   set[fold.Key]
}

func touch(batch []events.Event) *touched {
	t := &touched{keysByEntity: make(map[events.Entity]*set[fold.Key])}
	for _, e := range batch {
		t.add(e)
	}
	return t
}

func (t *touched) add(e events.Event) {
	t.tombstones.add(fold.TombstoneKey{System: e.System, Entity: e.Entity, Key: e.Key})
	switch e.Entity {
	case events.EntityClassification:
		t.classifications.add(fold.ClassificationKeyOf(e))
	case events.EntityCall:
		t.addCall(e)
	case events.EntityTranscript:
		owner, _ := events.ParseOwnerRow(e.Key)
		t.addOwnerRow(e.System, owner)
		if owner.Entity == events.EntityVoicemail {
			t.addKey(owner.Entity, fold.Key{System: e.System, ID: owner.ID}) // a notice names its call
		}
	case events.EntityRecording:
		t.addRecording(e)
	case events.EntityAnalysis:
		t.addAnalysis(e)
	case events.EntityVoicemail:
		t.addKey(e.Entity, key(e))
		t.addOwnerRow(e.System, events.OwnerRow{Entity: e.Entity, ID: key(e).ID})
	default:
		t.addKey(e.Entity, key(e))
	}
}

// addKey adds the key of an entity with a UUID that is neither a call nor a facet.
func (t *touched) addKey(entity events.Entity, k fold.Key) {
	if t.keysByEntity[entity] == nil {
		t.keysByEntity[entity] = new(set[fold.Key])
	}
	t.keysByEntity[entity].add(k)
}

// keys returns what addKey added.
func (t *touched) keys(entity events.Entity) []fold.Key {
	if keys := t.keysByEntity[entity]; keys != nil {
		return keys.list
	}
	return nil
}

func (t *touched) addCall(e events.Event) {
	k := key(e)
	t.addOwnerRow(k.System, events.OwnerRow{Entity: events.EntityCall, ID: k.ID})
	call, ok := e.State.(*events.Call)
	if !ok {
		return
	}
	t.addReference(k.System, events.EntityCallGroup, call.CallGroupID)
	t.addReference(k.System, events.EntityExtension, call.AnsweredByExtensionID)
	t.addReference(k.System, events.EntityExtension, call.FromExtensionID)
}

// addReference adds the tombstone of what a call refers to.
func (t *touched) addReference(system uuid.UUID, entity events.Entity, id events.Null[uuid.UUID]) {
	if id.Valid {
		t.tombstones.add(fold.TombstoneKey{System: system, Entity: entity, Key: id.Value.String()})
	}
}

func (t *touched) addRecording(e events.Event) {
	k := fold.RecordingKey{System: e.System, Sid: e.Key}
	t.recordings.add(k)
	if recording, ok := e.State.(*events.Recording); ok {
		t.addOwnerRow(e.System, recording.OwnerRow())
	} else {
		t.deletedRecordings.add(k)
	}
}

func (t *touched) addAnalysis(e events.Event) {
	k := key(e)
	t.analyses.add(k)
	analysis, ok := e.State.(*events.Analysis)
	if !ok {
		t.deletedAnalyses.add(k)
		return
	}
	t.addOwnerRow(k.System, events.OwnerRow{Entity: events.EntityCall, ID: analysis.CallID})
	if role := analysis.Representative; role != nil {
		t.addReference(k.System, events.EntityRepresentative, role.ID)
	}
}

// addOwnerRow adds a call or voicemail with its facets and, since a deleted call is final, its tombstone.
func (t *touched) addOwnerRow(system uuid.UUID, owner events.OwnerRow) {
	added := t.owners.add(fold.OwnerRowKey{System: system, OwnerRow: owner})
	if added && owner.Entity == events.EntityCall {
		t.calls.add(fold.Key{System: system, ID: owner.ID})
		t.tombstones.add(fold.TombstoneKey{System: system, Entity: owner.Entity, Key: owner.ID.String()})
	}
}

func key(e events.Event) fold.Key {
	id, _ := uuid.Parse(e.Key)
	return fold.Key{System: e.System, ID: id}
}

// set holds distinct values in the order in which they were added.
type set[T comparable] struct {
	seen map[T]struct{}
	list []T
}

// add tells whether the value is a new one.
func (s *set[T]) add(v T) bool {
	if s.seen == nil {
		s.seen = make(map[T]struct{})
	}
	if _, dup := s.seen[v]; dup {
		return false
	}
	s.seen[v] = struct{}{}
	s.list = append(s.list, v)
	return true
}
