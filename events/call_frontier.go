package events

import "github.com/google/uuid"

// CallFrontier declares that every call of a phone system with a CreatedAt before Through has been published. Publishers need not declare it.
// Where they do, a window of reports by createdAt is complete once Through has reached its end; elsewhere, calls can appear in it afterwards.
type CallFrontier struct {
	PhoneSystemID uuid.UUID `json:"phoneSystemId"`
	Version       int64     `json:"version"`
	Through       Time      `json:"through"`
}

// Identity implements [State].
func (f *CallFrontier) Identity() Identity {
	return Identity{EntityCallFrontier, f.PhoneSystemID, f.PhoneSystemID.String(), f.Version}
}

func readCallFrontier(o *object) State {
	return &CallFrontier{
		PhoneSystemID: required(o, "phoneSystemId", identifier),
		Version:       readVersion(o),
		Through:       required(o, "through", instant),
	}
}
