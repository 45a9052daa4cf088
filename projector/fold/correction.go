package fold

import (
	"cmp"
	"slices"
	"sort"

	"github.com/google/uuid"

	"callboard/events"
)

// Correction is the record of calls that show other values although no event changed them: a rebuild, a repair or a rollback did. A client that
// walks by updatedAt finds them only if they change it, so their UpdatedAt is At or later once the partition's watermark has reached At.
type Correction struct {
	System uuid.UUID   // [uuid.Nil]: all phone systems of the partition
	Call   uuid.UUID   // [uuid.Nil]: all calls of the phone system
	Since  events.Time // only calls whose UpdatedAt is this or later
	At     events.Time
}

// corrects tells whether a call is given the correction's time.
func (c Correction) corrects(call CallLog) bool {
	return (c.System == uuid.Nil || c.System == call.System) && (c.Call == uuid.Nil || c.Call == call.ID) &&
		c.Since <= call.UpdatedAt && call.UpdatedAt < c.At
}

// Corrections are those of a partition, in the order of their times.
type Corrections []Correction

// Until returns the corrections that a watermark has reached.
func (c Corrections) Until(watermark events.Time) Corrections { return c[:c.reached(watermark)] }

// After returns the corrections that a watermark has not reached.
func (c Corrections) After(watermark events.Time) Corrections { return c[c.reached(watermark):] }

func (c Corrections) reached(watermark events.Time) int {
	return sort.Search(len(c), func(i int) bool { return c[i].At > watermark })
}

// Explain tells whether a call can have a time because some of the corrections were applied to it.
func (c Corrections) Explain(call CallLog, at events.Time) bool {
	for _, one := range c {
		if one.corrects(call) {
			call.UpdatedAt = one.At
		}
		if call.UpdatedAt == at {
			return true
		}
	}
	return false
}

// OfSystems returns the corrections of all calls of a phone system.
func (c Corrections) OfSystems() (list Corrections) {
	for _, one := range c {
		if one.System != uuid.Nil && one.Call == uuid.Nil {
			list = append(list, one)
		}
	}
	return list
}

// correctionKey is the phone system and the call of a correction.
type correctionKey struct{ system, call uuid.UUID }

// ApplyCorrections gives calls the times of the state's corrections. It must be called before the rows of calls are read.
func (s *State) ApplyCorrections() {
	if len(s.Corrections) == 0 {
		return
	}
	of := make(map[correctionKey]Corrections)
	for _, c := range s.Corrections {
		key := correctionKey{c.System, c.Call}
		of[key] = append(of[key], c)
	}
	for row := range s.CallLogs.Rows() {
		if at := correctedAt(*row, of); at > row.UpdatedAt {
			next := *row
			next.UpdatedAt = at
			s.CallLogs.Put(next.Key, next)
		}
	}
}

// correctedAt returns the UpdatedAt of a call after all corrections, in the order of their times.
func correctedAt(call CallLog, of map[correctionKey]Corrections) events.Time {
	list := slices.Concat(of[correctionKey{}], of[correctionKey{system: call.System}], of[correctionKey{call.System, call.ID}])
	slices.SortFunc(list, func(a, b Correction) int { return cmp.Compare(a.At, b.At) })
	for _, c := range list {
		if c.corrects(call) {
			call.UpdatedAt = c.At
		}
	}
	return call.UpdatedAt
}
