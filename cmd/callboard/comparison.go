package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/rebuild"
)

// comparisonWords are the words for rows that differ. Their tense depends on the command.
type comparisonWords struct {
	missing, surplus string // of a row, such as "missing"
	value            string // format of a value: column, served, expected
	noColumns        string // the beginning of a sentence about missing tables and columns
	sums             map[rebuild.Kind]string
}

func verifyWords() comparisonWords {
	return comparisonWords{
		missing: "missing", surplus: "unexpected", value: "%s is %s, expected %s", noColumns: "The live projection has no",
		sums: map[rebuild.Kind]string{
			rebuild.KindMissing: "missing", rebuild.KindSurplus: "unexpected", rebuild.KindChanged: "different values",
		},
	}
}

func dryRunWords() comparisonWords {
	words := verifyWords()
	words.sums = map[rebuild.Kind]string{
		rebuild.KindMissing: "would be added", rebuild.KindSurplus: "would be removed", rebuild.KindChanged: "would change",
	}
	return words
}

func rebuildWords() comparisonWords {
	return comparisonWords{
		missing: "added", surplus: "removed", value: "%s was %s, is now %s", noColumns: "The replaced projection had no",
		sums: map[rebuild.Kind]string{rebuild.KindMissing: "added", rebuild.KindSurplus: "removed", rebuild.KindChanged: "changed"},
	}
}

// comparisonLines are samples of rows that differ, then sums by table, then the rest.
func comparisonLines(c rebuild.Comparison, words comparisonWords) []string {
	lines := sampleLines(c, words)
	if len(c.Changes) > 0 {
		lines = append(append(lines, ""), table(changeRows(c, words))...)
	}
	return slices.Concat(lines, missingLines(c, words), unreadableLines(c.Unreadable))
}

// messageCountTable is the table of the message accounting. Its rows belong to no phone system, so a repair does not change them.
const messageCountTable = "message_count"

// sampleLines are the sampled rows, with a line for each column that differs.
func sampleLines(c rebuild.Comparison, words comparisonWords) []string {
	var lines []string
	for _, d := range c.Samples {
		row := rowName(d) + ": "
		switch d.Kind {
		case rebuild.KindMissing:
			lines = append(lines, row+words.missing+" row")
		case rebuild.KindSurplus:
			lines = append(lines, row+words.surplus+" row")
		default:
			for _, v := range d.Values {
				lines = append(lines, row+fmt.Sprintf(words.value, v.Column, printable(v.Served), printable(v.Expected)))
			}
		}
	}
	if names := unlistedTables(c); names != "" {
		lines = append(lines, "Not all rows that differ are listed: more in "+names+".")
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

// unlistedTables are the tables with more differing rows than samples.
func unlistedTables(c rebuild.Comparison) string {
	unlisted := make(map[string]int64)
	for _, change := range c.Changes {
		unlisted[change.Table] += change.Rows
	}
	for _, d := range c.Samples {
		unlisted[d.Table]--
	}
	maps.DeleteFunc(unlisted, func(_ string, rows int64) bool { return rows <= 0 })
	return strings.Join(slices.Sorted(maps.Keys(unlisted)), ", ")
}

func changeRows(c rebuild.Comparison, words comparisonWords) [][]string {
	rows := [][]string{{"TABLE", "ROWS", "DIFFERENCE"}}
	for _, change := range c.Changes {
		rows = append(rows, []string{change.Table, strconv.FormatInt(change.Rows, 10), words.sums[change.Kind]})
	}
	return rows
}

func missingLines(c rebuild.Comparison, words comparisonWords) []string {
	if len(c.MissingColumns) == 0 {
		return nil
	}
	line := words.noColumns + " " + strings.Join(c.MissingColumns, ", ") + ": another release built it"
	if !c.OtherDefinition {
		line += ", or its tables were altered"
	}
	return []string{line + "."}
}

// shownMessages is how many unreadable messages are listed.
const shownMessages = 20

func unreadableLines(messages []rebuild.UnreadableMessage) []string {
	if len(messages) == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("WARNING: messages that were applied before and can't be read now: %d. The new rows lack their changes.", len(messages))}
	for _, m := range messages[:min(len(messages), shownMessages)] {
		lines = append(lines, fmt.Sprintf("  message %d (%s): %s", m.Sequence, printable(m.Subject), printable(m.Reason)))
	}
	if more := len(messages) - shownMessages; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return lines
}

// changedSystemLines say what becomes of the phone systems whose reports show other values, or, with "would ", what would.
func changedSystemLines(would string, found rebuild.Comparison) []string {
	if found.ChangedSystems == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Phone systems whose reports %sshow other values: %d. Their calls %sget a later updatedAt, "+
		"so clients that walk by it read them again.", would, found.ChangedSystems, would)}
}
