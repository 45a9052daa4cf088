package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"callboard/projector/deadletter"
)

func (c *deadLettersRetryCommand) write(w io.Writer, done retried) error {
	for _, line := range c.lines(done) {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func (c *deadLettersRetryCommand) lines(done retried) []string {
	lines := untouchedLines(done.Results)
	for _, state := range []deadletter.State{deadletter.Applied, deadletter.Stale, deadletter.Ignored, deadletter.Dropped, deadletter.Gone, deadletter.Open, deadletter.Waiting} {
		lines = append(lines, c.stateLines(state, done.Results)...)
	}
	for _, obstacle := range slices.Sorted(maps.Keys(done.Left)) {
		lines = append(lines, fmt.Sprintf("left alone: %d %s", done.Left[obstacle], obstacle.Why()))
	}
	if len(lines) == 0 {
		lines = []string{c.none()}
	}
	return lines
}

// stateLines are how many came to a state, which, and why.
func (c *deadLettersRetryCommand) stateLines(state deadletter.State, results []deadletter.Result) []string {
	ids := make(map[string][]int64)
	count := 0
	for _, r := range results {
		if r.State == state && !r.Untouched {
			ids[r.Reason] = append(ids[r.Reason], r.ID)
			count++
		}
	}
	line := fmt.Sprintf("%s: %d", c.outcome(state), count)
	if without := ids[""]; len(without) > 0 {
		line += " (" + someIDs(without) + ")"
		delete(ids, "")
	}
	if count == 0 {
		return nil
	}
	return append([]string{line + c.meaning(state)}, reasonedLines(ids)...)
}

// reasonedLines are the letters of each reason, those of the most frequent ones first.
func reasonedLines(ids map[string][]int64) (lines []string) {
	reasons := slices.SortedFunc(maps.Keys(ids), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(ids[b]), len(ids[a])), cmp.Compare(a, b))
	})
	for i, reason := range reasons {
		if i == listedKinds {
			return append(lines, fmt.Sprintf("  and %d reasons more", len(reasons)-i))
		}
		lines = append(lines, fmt.Sprintf("  %s: %s", someIDs(ids[reason]), printable(cut(reason, listedReason))))
	}
	return lines
}

// outcome is a state as what a retry led to.
func (c *deadLettersRetryCommand) outcome(s deadletter.State) string {
	switch {
	case s == deadletter.Open:
		return "still dead letters"
	case s == deadletter.Waiting && c.NoWait:
		return "asked for"
	case s == deadletter.Waiting:
		return "still waiting"
	}
	return string(s)
}

// meaning explains an outcome where its name doesn't.
func (c *deadLettersRetryCommand) meaning(s deadletter.State) string {
	switch {
	case s == deadletter.Stale:
		return ", a later state of the same entity was there already"
	case s == deadletter.Ignored:
		return ", there was nothing to change"
	case s == deadletter.Dropped:
		return ", by somebody else meanwhile"
	case s == deadletter.Gone:
		return ", with the generation that they belonged to"
	case s == deadletter.Open:
		return "; 'callboard dead-letters show ID' says what helps"
	case s == deadletter.Waiting && c.NoWait:
		return "; 'callboard dead-letters list' shows those that stay"
	case s == deadletter.Waiting:
		return "; they stay asked for, and a projector tries them as soon as it can"
	}
	return ""
}
