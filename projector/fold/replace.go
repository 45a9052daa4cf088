package fold

import (
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

// replaceable is a row that an event of its entity replaces as a whole.
type replaceable interface {
	comparable
	version() int64
	countKeys() []CountKey // the counters that include the row
	displayed() displayed
}

// replaceRow applies an event of an entity that has no facets and is none: the state of the newest event is the row.
func replaceRow[K comparable, R replaceable, S any](s *State, t *Table[K, R], key K, e events.Event, row func(S) R) Outcome {
	before, existed := t.Get(key)
	deleted := s.tombstone(e.Identity).Version
	if e.Version <= max(before.version(), deleted) {
		changed := e.Version == before.version() && (e.Deleted() || row(e.State.(S)) != before)
		return staleOr(changed || e.Version == deleted && !e.Deleted())
	}

	// Without a row, a reference shows null after a deletion, and a fallback name before any event.
	referredTo := isReferredTo(e.Entity)
	shown, shows := displayed{deleted: referredTo && deleted > 0}, displayed{deleted: referredTo && e.Deleted()}
	if existed {
		shown = before.displayed()
		s.Counts.add(-1, before.countKeys()...)
	}

	if e.Deleted() {
		t.Delete(key)
		s.addTombstone(e.Identity, events.OwnerRow{})
	} else {
		s.clearTombstone(e.Identity)
		next := row(e.State.(S))
		shows = next.displayed()
		t.Put(key, next)
		s.Counts.add(+1, next.countKeys()...)
	}

	if shows != shown {
		s.Directories.add(1, e.System)
	}
	return Applied
}

// foldVoicemail applies an event of a voicemail. Its deletion removes its transcript and recordings. Unlike a call, a deleted
// voicemail can be created again.
func (s *State) foldVoicemail(e events.Event) Outcome {
	outcome := replaceRow(s, &s.Voicemails, keyOf(e), e, voicemail)
	if outcome == Applied && e.Deleted() {
		s.removeFacets(OwnerRowKey{e.System, events.OwnerRow{Entity: events.EntityVoicemail, ID: keyOf(e).ID}})
	}
	return outcome
}

// keyOf returns the key of an event whose entity has a UUID.
func keyOf(e events.Event) Key { return keyOfIdentity(e.Identity) }

func keyOfIdentity(id events.Identity) Key {
	parsed, _ := uuid.Parse(id.Key)
	return Key{id.System, parsed}
}

// ClassificationKeyOf returns the key of an event of a classification.
func ClassificationKeyOf(e events.Event) ClassificationKey {
	kind, code, _ := strings.Cut(e.Key, "/")
	return ClassificationKey{e.System, kind, code}
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

func (r PhoneSystem) countKeys() []CountKey    { return nil }
func (r Group) countKeys() []CountKey          { return nil }
func (r Representative) countKeys() []CountKey { return nil }
func (r Classification) countKeys() []CountKey { return nil }

func (r Extension) countKeys() []CountKey {
	return statusCountKeys(r.System, ListExtension, r.Status, r.CreatedAt)
}

func (r Phone) countKeys() []CountKey {
	return statusCountKeys(r.System, ListPhone, r.Status, r.CreatedAt)
}

func (r PhoneNumber) countKeys() []CountKey {
	return statusCountKeys(r.System, ListPhoneNumber, r.Status, r.CreatedAt)
}

func (r AgentConfig) countKeys() []CountKey {
	return statusCountKeys(r.System, ListAgentConfig, r.Status, r.CreatedAt)
}

func (r CallGroup) countKeys() []CountKey {
	return statusCountKeys(r.System, ListCallGroup, r.Status, r.CreatedAt)
}

func (r CallMenu) countKeys() []CountKey {
	return statusCountKeys(r.System, ListCallMenu, r.Status, r.CreatedAt)
}

func (r Voicemail) countKeys() []CountKey {
	return statusCountKeys(r.System, ListVoicemail, "", r.CreatedAt)
}
