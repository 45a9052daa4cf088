package fold

import "callboard/events"

// LookedUp tells whether calls refer to entities of a kind by id. Folding calls needs to know which of them were deleted.
func LookedUp(entity events.Entity) bool {
	return entity == events.EntityExtension || entity == events.EntityCallGroup || entity == events.EntityRepresentative
}

// RemoveLookedUp removes what events of entities that are [LookedUp] left in a state that started from nothing: their rows, tombstones,
// counters and changes of directories. A State can so fold them for others to see, while another one keeps their rows.
func (s *State) RemoveLookedUp() {
	s.Extensions, s.CallGroups, s.Representatives = Table[Key, Extension]{}, Table[Key, CallGroup]{}, Table[Key, Representative]{}
	for row := range s.Tombstones.Rows() {
		if LookedUp(row.Entity) {
			s.Tombstones.Delete(row.TombstoneKey)
		}
	}
	for key := range s.Counts {
		if key.List == ListExtension || key.List == ListCallGroup {
			delete(s.Counts, key)
		}
	}
	s.Directories = nil
}
