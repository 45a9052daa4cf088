package fold

import (
	"github.com/google/uuid"

	"callboard/events"
)

// displayed is what rows of other tables show of a row of the directory: a name and a number, or a label and a
// score. The zero value is a row that no event has defined, or a row of another table.
type displayed struct {
	exists       bool
	deleted      bool // of an extension, a call group or a representative
	name, number string
	score        events.Null[float64]
}

func (r Representative) displayed() displayed { return displayed{exists: true, name: r.Name} }

func (r Classification) displayed() displayed {
	return displayed{exists: true, name: r.Label, score: r.Score}
}

// isReferredTo tells whether calls refer to entities of a kind by id, so that a report shows null after a deletion.
func isReferredTo(entity events.Entity) bool {
	return entity == events.EntityExtension || entity == events.EntityCallGroup || entity == events.EntityRepresentative
}

// countDirectoryChange counts an event that changes what rows of other tables show of a phone system's directory, or of
// the global classifications. Nobody can have read the directory of a phone system that does not exist.
func (s *State) countDirectoryChange(system uuid.UUID) {
	if system == uuid.Nil {
		s.GlobalDirectory++
	} else if row, ok := s.PhoneSystems.Get(system); ok {
		row.Directory++
		s.PhoneSystems.Put(system, row)
	}
}
