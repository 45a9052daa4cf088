package fold

import (
	"slices"

	"callboard/events"
)

// facet is a row with an identity that belongs to one call or voicemail, which never changes.
type facet interface {
	comparable
	version() int64
	owner() OwnerRowKey
}

// facetIndex holds the keys of a kind of facet by the call or voicemail that they belong to.
type facetIndex[K comparable] map[OwnerRowKey][]K

func (x facetIndex[K]) add(owner OwnerRowKey, key K) {
	if !slices.Contains(x[owner], key) {
		x[owner] = append(x[owner], key)
	}
}

// facetTable is the rows of a kind of facet, their index, and the function that changes a row's counters by +1 or -1.
type facetTable[K comparable, R facet] struct {
	rows  *Table[K, R]
	index facetIndex[K]
	count func(row R, by int64)
}

// newFacetTable indexes the loaded rows, when the index is first needed.
func newFacetTable[K comparable, R facet](
	rows *Table[K, R], index *facetIndex[K], count func(row R, by int64),
) facetTable[K, R] {
	if *index == nil {
		*index = make(facetIndex[K])
		for key, row := range rows.existing(rows.Needed()) {
			index.add(row.owner(), key)
		}
	}
	return facetTable[K, R]{rows, *index, count}
}

// of iterates over the facets of a call or voicemail.
func (f facetTable[K, R]) of(owner OwnerRowKey) func(yield func(K, R) bool) {
	return f.rows.existing(f.index[owner])
}

// applyFacet applies an event of a facet. read returns the row that the event's state gives.
func applyFacet[K comparable, R facet](
	s *State, f facetTable[K, R], key K, e events.Event, at events.Time, read func() R,
) (Outcome, error) {
	// An event that is not newer is stale, and conflicting where the version has other content.
	before, existed := f.rows.Get(key)
	tombstone := s.tombstone(e.Identity)
	if e.Version <= max(before.version(), tombstone.Version) {
		changed := e.Version == before.version() && (e.Deleted() || read() != before)
		return staleOr(changed || e.Version == tombstone.Version && !e.Deleted() && s.deletedByEvent(read().owner())), nil
	}

	// A facet stays with the call or voicemail of its earlier events, also after a deletion.
	known := OwnerRowKey{e.System, tombstone.OwnerRow}
	if existed {
		known = before.owner()
	}

	if e.Deleted() {
		if existed {
			f.count(before, -1)
		}
		f.rows.Delete(key)
		s.addTombstone(e.Identity, known.OwnerRow)
		s.recomputeOwner(known, at)
		return Applied, nil
	}

	next := read()
	owner := next.owner()
	if known.Entity != "" && known != owner {
		return 0, errOwnerRowChanged
	}

	// The deletion of a call is final: the call gets no more facets.
	if s.ownerRowDeleted(owner) {
		s.addTombstone(e.Identity, owner.OwnerRow)
		return Ignored, nil
	}

	s.clearTombstone(e.Identity)
	if existed {
		f.count(before, -1)
	}

	f.index.add(owner, key)
	f.rows.Put(key, next)
	f.count(next, +1)
	s.recomputeOwner(owner, at)
	return Applied, nil
}

// deletedByEvent tells whether a facet that has a tombstone was deleted by an event of its own. The deletion of its
// call or voicemail leaves a tombstone too, and an event that arrives again after it is no conflict. A voicemail
// can be there again, so nothing is known of its facets.
func (s *State) deletedByEvent(owner OwnerRowKey) bool {
	return owner.Entity == events.EntityCall && !s.callDeleted(owner.System, owner.ID)
}

// removeFacetRows removes an owner row's facets of one kind. Their tombstones keep the owner row, which must never
// change.
func removeFacetRows[K comparable, R facet](
	s *State, f facetTable[K, R], owner OwnerRowKey, identity func(K) events.Identity,
) {
	for key, row := range f.of(owner) {
		f.count(row, -1)
		f.rows.Delete(key)
		id := identity(key)
		id.Version = row.version()
		s.addTombstone(id, row.owner().OwnerRow)
	}
}

// removeFacets removes all facets of a deleted call or voicemail.
func (s *State) removeFacets(owner OwnerRowKey) {
	s.removeTranscript(owner)
	removeFacetRows(s, s.recordings(), owner, func(key RecordingKey) events.Identity {
		return events.Identity{Entity: events.EntityRecording, System: key.System, Key: key.Sid}
	})
	removeFacetRows(s, s.analyses(), owner, func(key Key) events.Identity {
		return events.Identity{Entity: events.EntityAnalysis, System: key.System, Key: key.ID.String()}
	})
}
