package deadletter

import (
	"cmp"
	"slices"
)

// Result is what became of a letter.
type Result struct {
	ID        int64  `json:"id"`
	State     State  `json:"state"`
	Reason    string `json:"reason,omitempty"` // why it is one, or what it waits for
	Untouched bool   `json:"untouched"`        // it was settled before
}

func sortByID(list []Result) {
	slices.SortFunc(list, func(a, b Result) int { return cmp.Compare(a.ID, b.ID) })
}
