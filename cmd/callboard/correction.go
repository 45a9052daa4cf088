package main

import (
	"fmt"

	"callboard/projector/rebuild"
)

// changedSystemLines say what becomes of the phone systems whose reports show other values, or, with "would ", what would.
func changedSystemLines(would string, found rebuild.Comparison) []string {
	if found.ChangedSystems == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Phone systems whose reports %sshow other values: %d. Their calls %sget a later updatedAt, "+
		"so clients that walk by it read them again.", would, found.ChangedSystems, would)}
}
