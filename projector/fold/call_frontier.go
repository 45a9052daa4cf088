package fold

import (
	"github.com/google/uuid"

	"callboard/events"
)

// CallFrontier is a row of call_frontier: the calls of a phone system that were created before a time have been published.
type CallFrontier struct {
	System  uuid.UUID
	Version int64
	Through events.Time
}

func callFrontier(f *events.CallFrontier) CallFrontier {
	return CallFrontier{System: f.PhoneSystemID, Version: f.Version, Through: f.Through}
}

func (r CallFrontier) version() int64        { return r.Version }
func (r CallFrontier) countKeys() []CountKey { return nil }
func (r CallFrontier) displayed() displayed  { return displayed{} }

// ListLateCall is what counts late calls by the day of their CreatedAt, beside the lists. It is no table.
const ListLateCall = "late_call"

// countLate counts a call that appears at a time before which all calls had been published, as its phone system's frontier says. A walk by
// createdAt can have passed it. What was counted stays counted, whatever becomes of the call.
func (s *State) countLate(call CallLog) {
	if f, ok := s.CallFrontiers.Get(Key{call.System, call.System}); ok && call.CreatedAt < f.Through {
		s.Counts.add(+1, CountKey{System: call.System, List: ListLateCall, Day: call.CreatedAt.Day()})
	}
}

// LateCalls returns how many late calls the events had that were folded.
func (s *State) LateCalls() (n int64) {
	for key, count := range s.Counts {
		if key.List == ListLateCall {
			n += count
		}
	}
	return n
}
