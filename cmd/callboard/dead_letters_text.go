package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"callboard/events"
	"callboard/projector/deadletter"
)

const (
	shownReasonLength = 100 // characters
	shownDataBytes    = 4 << 10
)

func (c *deadLettersListCommand) lines(page deadletter.Page) []string {
	switch {
	case len(page.DeadLetters) == 0 && c.All:
		return []string{"No dead letters."}
	case len(page.DeadLetters) == 0:
		return []string{"No open dead letters."}
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
	return append(table(rows), "", line+".")
}

// deadLetterLines are what is known about a dead letter, and the beginning of its data.
func deadLetterLines(l deadletter.Detail) []string {
	lines := table(detailRows(l))
	if l.State == deadletter.Dropped {
		return lines
	}
	text, rest := cutBytes(deadletter.Legible(l.Data), shownDataBytes)
	lines = append(lines, "", fmt.Sprintf("Data, %d bytes:", len(l.Data)), text)
	if rest > 0 {
		lines = append(lines, fmt.Sprintf("... and %d more bytes; --json shows all, in base64", rest))
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

	// Headers that could not be parsed are shown as they are.
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
		return events.AuditStream
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

// resultLines are what became of each dead letter, and how many could not be retried.
func resultLines(results []deadletter.Result, notRetryable map[deadletter.NotRetryableReason]int) []string {
	if len(results)+len(notRetryable) == 0 {
		return []string{"No open dead letters."}
	}
	var lines []string
	for _, r := range results {
		line := fmt.Sprintf("Dead letter %d: %s", r.ID, resultText(r.State))
		if r.AlreadyResolved {
			line = fmt.Sprintf("Dead letter %d was resolved before: %s", r.ID, r.State)
		}
		if r.Reason != "" {
			line += ": " + shortReason(r.Reason)
		}
		lines = append(lines, line+".")
	}

	for _, reason := range slices.Sorted(maps.Keys(notRetryable)) {
		lines = append(lines, fmt.Sprintf("Not retryable: %d %s.", notRetryable[reason], reason.Text()))
	}
	return lines
}

// resultText is the state of a dead letter after a command.
func resultText(s deadletter.State) string {
	switch s {
	case deadletter.Stale:
		return "stale, because a later state of the same entity exists"
	case deadletter.Ignored:
		return "ignored, because its call was deleted"
	case deadletter.Gone:
		return "deleted together with its generation"
	case deadletter.Open:
		return "not applied"
	case deadletter.Waiting:
		return "still waiting for a projector"
	case deadletter.Applied, deadletter.Dropped:
	}
	return string(s)
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

// cutBytes returns the beginning of a text, at most limit bytes of whole characters, and the number of bytes that it
// left out.
func cutBytes(text string, limit int) (beginning string, rest int) {
	if len(text) <= limit {
		return text, 0
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit], len(text) - limit
}
