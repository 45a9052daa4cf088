package fold

import (
	"slices"

	"callboard/events"
)

// facet is a row that hangs on one call or voicemail, always the same, and has an identity of its own.
type facet interface {
	comparable
	version() int64
	owner() events.OwnerRow
}

// owned are the facets of a kind by what they hang on.
type owned[K comparable] map[OwnerRowKey][]K

func (o *owned[K]) own(owner OwnerRowKey, key K) {
	if *o == nil {
		*o = make(owned[K])
	}
	if !slices.Contains((*o)[owner], key) {
		(*o)[owner] = append((*o)[owner], key)
	}
}

// facets are all of one kind: their rows, what they hang on, and how one is counted into its lists and out of them.
type facets[K, R comparable] struct {
	rows *Table[K, R]
	of   *owned[K]
	list func(row R, by int64)
}

// attach applies an event of a facet. read is its row as the event has it.
func attach[K comparable, R facet](
	s *State, f facets[K, R], key K, e events.Event, at events.Time, read func() R,
) (Outcome, error) {
	before, existed := f.rows.Get(key)
	tomb := s.tombstone(e.Identity)
	if e.Version <= max(before.version(), tomb.Version) {
		return Stale, nil
	}
	known := tomb.OwnerRow
	if existed {
		known = before.owner()
	}
	if e.Deleted() {
		if existed {
			f.list(before, -1)
		}
		f.rows.Delete(key)
		s.bury(e.Identity, known)
		s.settleOwner(OwnerRowKey{e.System, known}, at)
		return Applied, nil
	}
	next := read()
	if known.Entity != "" && known != next.owner() {
		return 0, errOwnerChanged
	}
	owner := OwnerRowKey{e.System, next.owner()}
	if s.finalOwner(owner) {
		s.bury(e.Identity, next.owner())
		return Ignored, nil
	}
	s.unbury(e.Identity)
	if existed {
		f.list(before, -1)
	}
	f.of.own(owner, key)
	f.rows.Put(key, next)
	f.list(next, +1)
	s.settleOwner(owner, at)
	return Applied, nil
}

// end removes the facets of an owner. The tombstones keep what they hung on: that never changes.
func end[K comparable, R facet](s *State, f facets[K, R], owner OwnerRowKey, identity func(K) events.Identity) {
	for _, key := range (*f.of)[owner] {
		row, live := f.rows.Get(key)
		if !live {
			continue
		}
		f.list(row, -1)
		f.rows.Delete(key)
		id := identity(key)
		id.Version = row.version()
		s.bury(id, row.owner())
	}
}

// endFacets removes what hangs on an owner.
func (s *State) endFacets(owner OwnerRowKey) {
	s.endTranscript(owner)
	end(s, s.recordings(), owner, func(key RecordingKey) events.Identity {
		return events.Identity{Entity: events.EntityRecording, System: key.System, Key: key.Sid}
	})
	end(s, s.analyses(), owner, func(key Key) events.Identity {
		return events.Identity{Entity: events.EntityAnalysis, System: key.System, Key: key.ID.String()}
	})
}
