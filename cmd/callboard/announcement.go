package main

import (
	"fmt"

	"callboard/projector/rebuild"
)

// announcement is the flag of commands after which calls can show other values although no event changed them.
type announcement struct {
	NoAnnounce bool `help:"Let calls that show other values keep their updatedAt. Clients that walk by updatedAt do not read them again then, and keep wrong copies." json:"-"`
}

// changedCallLines say what becomes of the calls that show other values. verb is "get" or "would get".
func (a announcement) changedCallLines(c rebuild.Comparison, verb string) []string {
	if c.ChangedCalls == 0 {
		return nil
	}
	calls := fmt.Sprintf("%d calls of %d phone systems", c.ChangedCalls, c.ChangedCallSystems)
	if a.NoAnnounce {
		return []string{"Calls that show other values and keep their updatedAt: " + calls + ". Clients that walk by updatedAt keep copies of what was wrong."}
	}
	return []string{"Calls that show other values and " + verb + " a later updatedAt: " + calls + ". Clients that walk by updatedAt read them again."}
}
