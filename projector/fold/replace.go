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

// replaced is the rule of an entity that has no facets and is none: the state of the newest event is the row.
func replaced[K comparable, R replaceable, S any](
	s *State, t *Table[K, R], key func(events.Identity) K, row func(S) R,
) rule {
	return rule{
		need: func(e events.Event) {
			t.need(key(e.Identity))
			s.PhoneSystems.need(e.System) // counts changes of its directory
		},
		apply: func(e events.Event, _ events.Time) (Outcome, error) {
			return replaceRow(s, t, key(e.Identity), e, row), nil
		},
	}
}

func replaceRow[K comparable, R replaceable, S any](
	s *State, t *Table[K, R], key K, e events.Event, row func(S) R,
) Outcome {
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

	// Another name or label makes another edition of the directory.
	if shows != shown {
		s.countDirectoryChange(e.System)
	}
	return Applied
}

// idOf returns the UUID that is an entity's key.
func idOf(id events.Identity) uuid.UUID {
	parsed, _ := uuid.Parse(id.Key)
	return parsed
}

func keyOf(id events.Identity) Key { return Key{id.System, idOf(id)} }

func classificationKeyOf(id events.Identity) ClassificationKey {
	kind, code, _ := strings.Cut(id.Key, "/")
	return ClassificationKey{id.System, kind, code}
}

func (r Voicemail) countKeys() []CountKey {
	return statusCountKeys(r.System, ListVoicemail, "", r.CreatedAt)
}
