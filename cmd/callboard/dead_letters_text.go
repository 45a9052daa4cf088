package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"callboard/events/audit"
	"callboard/projector/deadletter"
)

const (
	shownReasonLength = 100 // characters
	shownReasons      = 10
	shownIDs          = 10
	shownDataBytes    = 4 << 10

	// maxWithoutReasons is up to how many open dead letters a list ends without counts by reason.
	maxWithoutReasons = 10
)

func (s selection) noneText() string {
	if s.Reason != "" {
		return fmt.Sprintf("No open dead letter has a reason that contains %q.", s.Reason)
	}
	return "No open dead letters."
}

func (c *deadLettersListCommand) lines(page deadletter.Page) []string {
	if len(page.DeadLetters) == 0 {
		if c.All {
			return []string{"No dead letters."}
		}
		return []string{selection{Reason: c.Reason}.noneText()}
	}
	rows := [][]string{{"ID", "STORED", "SUBJECT", "SEQUENCE", "STATE", "REASON"}}
	for _, l := range page.DeadLetters {
		rows = append(rows, []string{
			strconv.FormatInt(l.ID, 10), instant(l.StoredAt), printable(l.Subject), strconv.FormatInt(l.Sequence, 10), string(l.State),
			shortReason(l.Reason),
		})
	}
	line := fmt.Sprintf("%d open", page.Open)
	if page.Waiting > 0 {
		line += fmt.Sprintf(", of which %d waiting for a retry", page.Waiting)
	}
	if page.Open <= maxWithoutReasons {
		return append(table(rows), "", line+".")
	}
	return slices.Concat(table(rows), []string{"", line + ":", ""}, table(reasonRows(page.Reasons)))
}

func reasonRows(reasons []deadletter.ReasonCount) [][]string {
	rows := [][]string{{"COUNT", "REASON"}}
	for i, r := range reasons {
		if i == shownReasons {
			return append(rows, []string{"", fmt.Sprintf("and %d more reasons", len(reasons)-i)})
		}
		rows = append(rows, []string{strconv.FormatInt(r.Count, 10), shortReason(r.Reason)})
	}
	return rows
}

func (c *deadLettersShowCommand) lines(l deadletter.Detail) []string {
	lines := table(detailRows(l))
	if l.State == deadletter.Dropped {
		return lines
	}
	text, rest := deadletter.Legible(l.Data), 0
	if !c.Full {
		text, rest = cutBytes(text, shownDataBytes)
	}
	lines = append(lines, "", fmt.Sprintf("Data, %d bytes:", len(l.Data)), text)
	if rest > 0 {
		lines = append(lines, fmt.Sprintf("... and %d more bytes; use --full to show all", rest))
	}
	return lines
}

func detailRows(l deadletter.Detail) [][]string {
	rows := [][]string{
		{"id", strconv.FormatInt(l.ID, 10)},
		{"state", stateText(l.DeadLetter)},
		{"reason", printable(l.Reason)},
		{"advice", l.Advice},
		{"stream", streamText(l.DeadLetter)},
		{"sequence", strconv.FormatInt(l.Sequence, 10)},
		{"partition", strconv.Itoa(l.Partition)},
		{"subject", printable(l.Subject)},
		{"stored", instant(l.StoredAt)},
		{"recorded", instant(l.RecordedAt)},
	}
	if l.FailedAt != nil {
		rows = append(rows, []string{"failed retries", fmt.Sprintf("%d, the last at %s", l.Tries, instant(*l.FailedAt))})
	}
	if l.Header == nil && len(l.RawHeader) > 0 {
		return append(rows, []string{"headers", strconv.QuoteToGraphic(string(l.RawHeader))})
	}
	for _, name := range slices.Sorted(maps.Keys(l.Header)) {
		for _, value := range l.Header[name] {
			rows = append(rows, []string{"header", printable(name + ": " + value)})
		}
	}
	return rows
}

// streamText is the identity of the stream of events, or the name of the stream of audit entries.
func streamText(l deadletter.DeadLetter) string {
	if l.Audit() {
		return audit.StreamName
	}
	return l.Stream.UUID.String()
}

// stateText is the state, with the time of its last change.
func stateText(l deadletter.DeadLetter) string {
	switch {
	case l.ResolvedAt != nil:
		return string(l.State) + " since " + instant(*l.ResolvedAt)
	case l.RetriedAt != nil:
		return "waiting for a retry since " + instant(*l.RetriedAt)
	}
	return string(l.State)
}

func (c *deadLettersDropCommand) lines(results []deadletter.Result) []string {
	lines := alreadyResolvedLines(results)
	var ids []int64
	for _, r := range results {
		if !r.AlreadyResolved {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) > 0 {
		lines = append(lines, fmt.Sprintf("Dropped: %d (%s).", len(ids), idList(ids)))
	}
	if len(lines) == 0 {
		lines = []string{c.noneText()}
	}
	return lines
}

func alreadyResolvedLines(results []deadletter.Result) (lines []string) {
	for _, r := range results {
		if r.AlreadyResolved {
			lines = append(lines, fmt.Sprintf("Dead letter %d was resolved before: %s.", r.ID, r.State))
		}
	}
	return lines
}

func (c *deadLettersRetryCommand) lines(done retryResults) []string {
	lines := alreadyResolvedLines(done.Results)
	for _, state := range []deadletter.State{
		deadletter.Applied, deadletter.Stale, deadletter.Ignored, deadletter.Dropped, deadletter.Gone, deadletter.Open, deadletter.Waiting,
	} {
		lines = append(lines, c.stateLines(state, done.Results)...)
	}
	for _, reason := range slices.Sorted(maps.Keys(done.NotRetryable)) {
		lines = append(lines, fmt.Sprintf("not retryable: %d %s", done.NotRetryable[reason], reason.Text()))
	}
	if len(lines) == 0 {
		lines = []string{c.noneText()}
	}
	return lines
}

// stateLines are the number of results in a state, their ids, and their reasons.
func (c *deadLettersRetryCommand) stateLines(state deadletter.State, results []deadletter.Result) []string {
	byReason := make(map[string][]int64)
	count := 0
	for _, r := range results {
		if r.State == state && !r.AlreadyResolved {
			byReason[r.Reason] = append(byReason[r.Reason], r.ID)
			count++
		}
	}
	if count == 0 {
		return nil
	}
	name, explanation := c.stateWords(state)
	line := fmt.Sprintf("%s: %d", name, count)
	if ids := byReason[""]; len(ids) > 0 {
		line += " (" + idList(ids) + ")"
		delete(byReason, "")
	}
	reasons := slices.SortedFunc(maps.Keys(byReason), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(byReason[b]), len(byReason[a])), cmp.Compare(a, b))
	})
	lines := []string{line + explanation}
	for i, reason := range reasons {
		if i == shownReasons {
			return append(lines, fmt.Sprintf("  and %d more reasons", len(reasons)-i))
		}
		lines = append(lines, fmt.Sprintf("  %s: %s", idList(byReason[reason]), shortReason(reason)))
	}
	return lines
}

// stateWords are the name of a retry's result and an explanation of it.
func (c *deadLettersRetryCommand) stateWords(s deadletter.State) (name, explanation string) {
	switch {
	case s == deadletter.Stale:
		return "stale", "; a later state of the same entity exists"
	case s == deadletter.Ignored:
		return "ignored", "; its call was deleted"
	case s == deadletter.Dropped:
		return "dropped", "; by another command"
	case s == deadletter.Gone:
		return "gone", "; deleted together with their generation"
	case s == deadletter.Open:
		return "not applied", "; run 'callboard dead-letters show ID' for advice"
	case s == deadletter.Waiting && c.NoWait:
		return "published again", "; run 'callboard dead-letters list' to see which are still open"
	case s == deadletter.Waiting:
		return "still waiting", "; projectors apply the retries that they have not reached"
	}
	return string(s), ""
}

func (c *deadLettersSkipCommand) lines(s deadletter.Skipped) []string {
	return []string{
		fmt.Sprintf("Skipped: message %d of partition %d, stored at %s.", s.Sequence, s.Partition, instant(s.StoredAt)),
		fmt.Sprintf("Its subject is %s, its ce-id %s.", printable(s.Subject), printable(cmp.Or(s.EventID, "missing"))),
		fmt.Sprintf("It is dead letter %d. After the cause is corrected, run 'callboard dead-letters retry %[1]d'.", s.ID),
	}
}

func shortReason(reason string) string {
	if runes := []rune(reason); len(runes) > shownReasonLength {
		reason = string(runes[:shownReasonLength-1]) + "…"
	}
	return printable(reason)
}

// idList lists the first ids of many.
func idList(ids []int64) string {
	names := make([]string, 0, shownIDs)
	for _, id := range ids[:min(len(ids), shownIDs)] {
		names = append(names, strconv.FormatInt(id, 10))
	}
	text := "ID " + strings.Join(names, ", ")
	if len(ids) > shownIDs {
		text += fmt.Sprintf(" and %d more", len(ids)-shownIDs)
	}
	return text
}

// cutBytes returns the beginning of a text, at most limit bytes of whole characters, and the number of bytes that it left out.
func cutBytes(text string, limit int) (beginning string, rest int) {
	if len(text) <= limit {
		return text, 0
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit], len(text) - limit
}
