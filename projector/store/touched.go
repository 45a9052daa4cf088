package store

import (
	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

// touched is what a batch of events needs from the database, each key once.
type touched struct {
	phoneSystems set[fold.Key]
	groups       set[fold.Key]
	extensions   set[fold.Key]
	callGroups   set[fold.Key]
	calls        set[fold.Key]
	owners       set[fold.OwnerKey]
	recordings   set[fold.RecordingKey]
	tombstones   set[fold.TombstoneKey]

	// orphans are recordings whose deletion doesn't say what they hang on.
	orphans set[fold.RecordingKey]
}

func touch(batch []events.Event) *touched {
	t := new(touched)
	for _, e := range batch {
		t.add(e)
	}
	return t
}

func (t *touched) add(e events.Event) {
	t.tombstones.add(fold.TombstoneKey{System: e.System, Entity: e.Entity, Key: e.Key})
	switch e.Entity {
	case events.EntityPhoneSystem:
		t.phoneSystems.add(key(e))
	case events.EntityGroup:
		t.groups.add(key(e))
	case events.EntityExtension:
		t.extensions.add(key(e))
	case events.EntityCallGroup:
		t.callGroups.add(key(e))
	case events.EntityCall:
		t.addCall(e)
	case events.EntityTranscript:
		owner, _ := events.ParseOwner(e.Key)
		t.addOwner(e.System, owner)
	case events.EntityRecording:
		t.addRecording(e)
	default: // what isn't folded touches nothing
	}
}

func (t *touched) addCall(e events.Event) {
	k := key(e)
	t.addOwner(k.System, events.Owner{Entity: events.EntityCall, ID: k.ID})
	call, ok := e.State.(*events.Call)
	if !ok {
		return
	}
	if call.CallGroupID.Valid {
		t.callGroups.add(fold.Key{System: k.System, ID: call.CallGroupID.Value})
	}
	for _, extension := range []events.Null[uuid.UUID]{call.AnsweredByExtensionID, call.FromExtensionID} {
		if extension.Valid {
			t.extensions.add(fold.Key{System: k.System, ID: extension.Value})
		}
	}
}

func (t *touched) addRecording(e events.Event) {
	k := fold.RecordingKey{System: e.System, Sid: e.Key}
	t.recordings.add(k)
	if recording, ok := e.State.(*events.Recording); ok {
		t.addOwner(e.System, recording.Owner())
	} else {
		t.orphans.add(k)
	}
}

// addOwner adds a call or voicemail, all that hangs on it and, since a deleted call is final, its tombstone.
func (t *touched) addOwner(system uuid.UUID, owner events.Owner) {
	t.owners.add(fold.OwnerKey{System: system, Owner: owner})
	if owner.Entity == events.EntityCall {
		t.calls.add(fold.Key{System: system, ID: owner.ID})
		t.tombstones.add(fold.TombstoneKey{System: system, Entity: owner.Entity, Key: owner.ID.String()})
	}
}

func key(e events.Event) fold.Key {
	id, _ := uuid.Parse(e.Key)
	return fold.Key{System: e.System, ID: id}
}

// set is the distinct values added to it, in order.
type set[T comparable] struct {
	seen map[T]struct{}
	list []T
}

func (s *set[T]) add(v T) {
	if s.seen == nil {
		s.seen = make(map[T]struct{})
	}
	if _, dup := s.seen[v]; !dup {
		s.seen[v] = struct{}{}
		s.list = append(s.list, v)
	}
}
