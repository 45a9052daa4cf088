package fold

import (
	"github.com/google/uuid"

	"callboard/events"
)

// definition is a row of an entity that nothing hangs on. Its places are the lists that count it.
type definition interface {
	comparable
	version() int64
	places() []CountKey
}

// define applies an event of a definition: the newest state is the row.
func define[K comparable, R definition, S any](s *State, t *Table[K, R], key K, e events.Event, row func(S) R) Outcome {
	before, existed := t.Get(key)
	if e.Version <= max(before.version(), s.tombstone(e.Identity).Version) {
		return Stale
	}
	if existed {
		s.Counts.add(-1, before.places()...)
	}
	if e.Deleted() {
		t.Delete(key)
		s.bury(e.Identity, events.OwnerRow{})
		return Applied
	}
	s.unbury(e.Identity)
	next := row(e.State.(S))
	t.Put(key, next)
	s.Counts.add(+1, next.places()...)
	return Applied
}

// keyOf is the key of an event whose entity has a UUID.
func keyOf(e events.Event) Key {
	id, _ := uuid.Parse(e.Key)
	return Key{e.System, id}
}

func (r PhoneSystem) version() int64    { return r.Version }
func (r Group) version() int64          { return r.Version }
func (r Extension) version() int64      { return r.Version }
func (r Phone) version() int64          { return r.Version }
func (r PhoneNumber) version() int64    { return r.Version }
func (r AgentConfig) version() int64    { return r.Version }
func (r CallGroup) version() int64      { return r.Version }
func (r CallMenu) version() int64       { return r.Version }
func (r Representative) version() int64 { return r.Version }
func (r Classification) version() int64 { return r.Version }
func (r Voicemail) version() int64      { return r.Version }

func (r PhoneSystem) places() []CountKey    { return nil }
func (r Group) places() []CountKey          { return nil }
func (r Representative) places() []CountKey { return nil }
func (r Classification) places() []CountKey { return nil }

func (r Extension) places() []CountKey {
	return byStatus(r.System, ListExtension, r.Status, r.CreatedAt)
}

func (r Phone) places() []CountKey { return byStatus(r.System, ListPhone, r.Status, r.CreatedAt) }

func (r PhoneNumber) places() []CountKey {
	return byStatus(r.System, ListPhoneNumber, r.Status, r.CreatedAt)
}

func (r AgentConfig) places() []CountKey {
	return byStatus(r.System, ListAgentConfig, r.Status, r.CreatedAt)
}

func (r CallGroup) places() []CountKey {
	return byStatus(r.System, ListCallGroup, r.Status, r.CreatedAt)
}

func (r CallMenu) places() []CountKey { return byStatus(r.System, ListCallMenu, r.Status, r.CreatedAt) }

func (r Voicemail) places() []CountKey { return byStatus(r.System, ListVoicemail, "", r.CreatedAt) }
