package main

import (
	"fmt"

	"callboard/projector/rebuild"
)

// correctionFlags are those of commands after which calls can show other values although no event changed them.
type correctionFlags struct {
	NoAnnounce bool `help:"Let calls that show other values keep their updatedAt. Clients that walk by updatedAt do not read them again then, and keep wrong copies."`
}

// changedCallLines say what becomes of the calls that show other values, or, with "would ", what would.
func (c correctionFlags) changedCallLines(would string, found rebuild.Comparison) []string {
	if found.ChangedCalls == 0 {
		return nil
	}
	calls := fmt.Sprintf("Calls that %sshow other values: %d, of %d phone systems. ", would, found.ChangedCalls, found.ChangedCallSystems)
	if c.NoAnnounce {
		return []string{calls + fmt.Sprintf("They %skeep their updatedAt, so clients that walk by it keep wrong copies.", would)}
	}
	return []string{calls + fmt.Sprintf("They %sget a later updatedAt, so clients that walk by it read them again.", would)}
}
