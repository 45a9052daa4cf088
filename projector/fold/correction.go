package fold

import (
	"github.com/google/uuid"

	"callboard/events"
)

// Corrections are the least UpdatedAt of all calls of a phone system, by phone system. A rebuild, a repair or a
// rollback records one where reports show other values although no event changed them: clients that walk by
// updatedAt read these calls again.
type Corrections map[uuid.UUID]events.Time

// Add adds corrections. The later time of a phone system counts.
func (c Corrections) Add(more Corrections) {
	for system, at := range more {
		c[system] = max(c[system], at)
	}
}

// Correct gives the state's calls the times of corrections. They are a maximum, so it does not matter how often
// they are applied, or before which of the events.
func (s *State) Correct(corrections Corrections) {
	if len(corrections) == 0 {
		return
	}
	for row := range s.CallLogs.Rows() {
		if at := corrections[row.System]; at > row.UpdatedAt {
			next := *row
			next.UpdatedAt = at
			s.CallLogs.Put(next.Key, next)
		}
	}
}
