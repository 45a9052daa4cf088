package fold

import "callboard/events"

// LookedUp tells whether calls refer to entities of a kind by id. Folding calls needs to know which of them were deleted.
func LookedUp(entity events.Entity) bool {
	return entity == events.EntityExtension || entity == events.EntityCallGroup || entity == events.EntityRepresentative
}
