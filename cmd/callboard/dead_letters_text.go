package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"callboard/projector/deadletter"
)

// shownData is how many characters of a dead letter's data are shown.
const shownData = 4000

func (c *deadLettersListCommand) lines(page deadletter.Page) []string {
	lines := list(page.DeadLetters, "None.", "id", "storedAt", "subject", "sequence", "state", "reason")
	return append(lines, "", fmt.Sprintf("%d open, of which %d waiting for a retry.", page.Open, page.Waiting))
}

// deadLetterLines are what is known about a dead letter, and the beginning of its data.
func deadLetterLines(l deadletter.Detail) []string {
	rows := append(fields(l.DeadLetter), []string{"advice", l.Advice})
	if l.Header == nil && len(l.RawHeader) > 0 { // it can't be parsed
		rows = append(rows, []string{"headers", strconv.QuoteToGraphic(string(l.RawHeader))})
	}

	for _, name := range slices.Sorted(maps.Keys(l.Header)) {
		for _, value := range l.Header[name] {
			rows = append(rows, []string{"header", printable(name + ": " + value)})
		}
	}

	// The data is shown as far as a terminal is of use for it.
	lines := table(rows)
	if l.State == deadletter.Dropped {
		return lines
	}
	text := []rune(deadletter.Legible(l.Data))
	lines = append(lines, "", fmt.Sprintf("Data, %d bytes:", len(l.Data)), string(text[:min(len(text), shownData)]))
	if more := len(text) - shownData; more > 0 {
		lines = append(lines, fmt.Sprintf("... and %d more characters; --json shows all, in base64", more))
	}

	return lines
}

// resultLines are what became of each dead letter, and how many could not be retried.
func resultLines(results []deadletter.Result, notRetryable map[deadletter.NotRetryableReason]int) []string {
	lines := list(results, "No dead letters.", "id", "state", "alreadyResolved", "reason")
	for _, reason := range slices.Sorted(maps.Keys(notRetryable)) {
		lines = append(lines, fmt.Sprintf("Not retryable: %d %s.", notRetryable[reason], reason.Text()))
	}
	return lines
}

func (c *deadLettersSkipCommand) lines(s deadletter.Skipped) []string {
	return []string{
		fmt.Sprintf("Skipped: message %d of partition %d, stored at %s.", s.Sequence, s.Partition, instant(s.StoredAt)),
		fmt.Sprintf("Its subject is %s, its ce-id %s.", printable(s.Subject), printable(cmp.Or(s.EventID, "missing"))),
		fmt.Sprintf("It is dead letter %d. After the cause is corrected, run 'callboard dead-letters retry %[1]d'.", s.ID),
	}
}
