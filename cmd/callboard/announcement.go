package main

import (
	"fmt"

	"callboard/projector/rebuild"
)

// announcement is the flag of commands after which calls can show other values although no event changed them.
type announcement struct {
	NoAnnounce bool `help:"Let calls that show other values keep their updatedAt. Clients that walk by updatedAt do not read them again then, and keep wrong copies."`
}

// changedCallLines say what becomes of the calls that show other values, or, with "would ", what would.
func (a announcement) changedCallLines(would string, c rebuild.Comparison) []string {
	if c.ChangedCalls == 0 {
		return nil
	}
	calls := fmt.Sprintf("Calls that %sshow other values: %d, of %d phone systems. ", would, c.ChangedCalls, c.ChangedCallSystems)
	if a.NoAnnounce {
		return []string{calls + fmt.Sprintf("They %skeep their updatedAt, so clients that walk by it keep wrong copies.", would)}
	}
	return []string{calls + fmt.Sprintf("They %sget a later updatedAt, so clients that walk by it read them again.", would)}
}
