package main

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/rebuild"
)

// comparisonLines are samples of rows that differ, then sums by table, then the rest. What is compared is the live
// projection, or the generation that a rebuild has replaced; what is expected is the new one.
func comparisonLines(c rebuild.Comparison) []string {
	lines := sampleLines(c)
	if len(c.Changes) > 0 {
		lines = append(append(lines, ""), list(c.Changes, "", "table", "rows", "kind")...)
	}

	if len(c.MissingColumns) > 0 {
		line := "The projection has no " + strings.Join(c.MissingColumns, ", ") + ": another release built it"
		if !c.OtherDefinition {
			line += ", or its tables were altered"
		}
		lines = append(lines, line+".")
	}

	return append(lines, unreadableLines(c.Unreadable)...)
}

// messageCountTable is the table of the message accounting. Its rows belong to no phone system, so a repair does not
// change them.
const messageCountTable = "message_count"

// sampleLines are the sampled rows, with a line for each column that differs.
func sampleLines(c rebuild.Comparison) []string {
	var lines []string
	for _, d := range c.Samples {
		row := rowName(d) + ": "
		if d.Kind != rebuild.KindChanged {
			lines = append(lines, row+string(d.Kind)+" row")
		}

		for _, v := range d.Values {
			lines = append(lines, row+fmt.Sprintf("%s is %s, expected %s", v.Column, printable(v.Served), printable(v.Expected)))
		}
	}

	// The samples are only some of the rows that differ.
	if unlisted := unlistedRows(c); unlisted > 0 {
		lines = append(lines, fmt.Sprintf("Rows that differ and are not listed: %d.", unlisted))
	}

	return lines
}

// rowName is a row's table, phone system and key.
func rowName(d rebuild.Difference) string {
	names := []string{d.Table}
	if d.Table != messageCountTable {
		names = append(names, systemName(d.System))
	}

	for _, v := range d.Key {
		if v.Expected != d.System.String() {
			names = append(names, v.Column+" "+printable(v.Expected))
		}
	}

	return strings.Join(names, ", ")
}

func systemName(system uuid.UUID) string {
	if system == uuid.Nil {
		return events.Global
	}
	return "phone system " + system.String()
}

// unlistedRows is the number of rows that differ and are no samples.
func unlistedRows(c rebuild.Comparison) int64 {
	unlisted := -int64(len(c.Samples))
	for _, change := range c.Changes {
		unlisted += change.Rows
	}
	return unlisted
}

// shownMessages is how many unreadable messages are listed.
const shownMessages = 20

func unreadableLines(messages []rebuild.UnreadableMessage) []string {
	if len(messages) == 0 {
		return nil
	}

	lines := []string{fmt.Sprintf("WARNING: messages that were applied before and can't be read now: %d. "+
		"The new rows lack their changes.", len(messages))}
	for _, m := range messages[:min(len(messages), shownMessages)] {
		lines = append(lines, fmt.Sprintf("  message %d (%s): %s", m.Sequence, printable(m.Subject), printable(m.Reason)))
	}

	if more := len(messages) - shownMessages; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return lines
}

// changedSystemLines say what a rebuild or a repair means for the phone systems whose reports show other values.
func changedSystemLines(found rebuild.Comparison) []string {
	if found.ChangedSystems == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Phone systems whose reports show other values: %d. "+
		"The new rows give their calls a later updatedAt, so clients that walk by it read them again.", found.ChangedSystems)}
}
