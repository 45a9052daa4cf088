package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/rebuild"
)

// comparisonWords are what is said of rows that differ.
type comparisonWords struct {
	missing, surplus, value string // of one row; value is a format of what is served and what should be
	lacks                   string // of the projection whose tables and columns aren't all there
	sums                    map[rebuild.Kind]string
}

// heldAgainst is what is said while nothing has changed.
func heldAgainst(sums map[rebuild.Kind]string) comparisonWords {
	return comparisonWords{
		missing: "not served, should be", surplus: "served, should not be", value: "served %s, should be %s",
		lacks: "The live projection lacks", sums: sums,
	}
}

// wholly is the comparison with lists that are empty, rather than null in JSON.
func wholly(c rebuild.Comparison) rebuild.Comparison {
	c.Changes = append([]rebuild.Change{}, c.Changes...)
	c.Samples = append([]rebuild.Difference{}, c.Samples...)
	c.Unreadable = append([]rebuild.UnreadableMessage{}, c.Unreadable...)
	c.MissingColumns = append([]string{}, c.MissingColumns...)
	slices.SortStableFunc(c.Samples, func(a, b rebuild.Difference) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.System.String(), b.System.String()))
	})
	return c
}

// writeComparison writes samples, then sums by table and column, then what else is to be known.
func writeComparison(w io.Writer, c rebuild.Comparison, words comparisonWords) error {
	lines := sampleLines(c, words)
	if len(c.Changes) > 0 {
		lines = append(lines, "")
	}
	if err := writeLines(w, lines); err != nil {
		return err
	}
	if err := table(w, changeRows(c, words)); err != nil {
		return err
	}
	return writeLines(w, append(missingLines(c, words), letterLines(c)...))
}

func writeLines(w io.Writer, lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// sampleLines are the rows that differ, a line for each column.
func sampleLines(c rebuild.Comparison, words comparisonWords) []string {
	var lines []string
	for _, d := range c.Samples {
		row := rowName(d) + ": "
		switch {
		case d.Table == ledger:
			lines = append(lines, ledgerLines(d, words)...)
		case d.Kind == rebuild.KindMissing:
			lines = append(lines, row+several(d)+words.missing)
		case d.Kind == rebuild.KindSurplus:
			lines = append(lines, row+several(d)+words.surplus)
		default:
			for _, v := range d.Values {
				lines = append(lines, row+v.Column+": "+fmt.Sprintf(words.value, printable(v.Served), printable(v.Expected)))
			}
		}
	}
	if left := unlisted(c); left != "" {
		lines = append(lines, "More rows differ than are listed: of "+left+".")
	}
	return lines
}

// several is the number of rows of a difference that is about more than one.
func several(d rebuild.Difference) string {
	if len(d.Key) > 0 || d.Rows <= 1 {
		return ""
	}
	return fmt.Sprintf("%d rows ", d.Rows)
}

// ledger is the table of what became of messages, by partition and entity.
const ledger = "message_count"

// ledgerLines are a partition's counts of an entity that differ: what was read, and what became of it.
func ledgerLines(d rebuild.Difference, words comparisonWords) []string {
	names := []string{tableName(d.Table)}
	for _, v := range d.Key {
		names = append(names, v.Column+" "+printable(v.Expected))
	}
	var lines []string
	for _, v := range d.Values {
		lines = append(lines, strings.Join(names, ", ")+": "+fmt.Sprintf(words.value, counts(v.Served), counts(v.Expected)))
	}
	return lines
}

// counts puts what became of messages in brackets behind how many were read.
func counts(text string) string {
	read, outcomes, found := strings.Cut(printable(text), ": ")
	if !found {
		return read
	}
	return read + " (" + outcomes + ")"
}

// tableName is what people know a table as.
func tableName(table string) string {
	if table == ledger {
		return "ledger"
	}
	return table
}

// unlisted are the tables of which not every row that differs is a sample, as far as the sums prove it.
func unlisted(c rebuild.Comparison) string {
	least := make(map[string]int64)
	changed := make(map[string]int64)
	for _, change := range c.Changes {
		if change.Kind == rebuild.KindChanged {
			changed[change.Table] = max(changed[change.Table], change.Rows)
			continue
		}
		least[change.Table] += change.Rows
	}
	for name, rows := range changed {
		least[name] += rows
	}
	for _, d := range c.Samples {
		least[d.Table] -= max(d.Rows, 1)
	}
	var names []string
	for name, rows := range least {
		if rows > 0 {
			names = append(names, tableName(name))
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// rowName is a row's table, phone system and key.
func rowName(d rebuild.Difference) string {
	names := []string{d.Table, systemName(d.System)}
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

func changeRows(c rebuild.Comparison, words comparisonWords) [][]string {
	if len(c.Changes) == 0 {
		return nil
	}
	rows := [][]string{{"TABLE", "COLUMN", "ROWS", "DIFFERENCE"}}
	for _, change := range c.Changes {
		rows = append(rows, []string{tableName(change.Table), cmp.Or(change.Column, "-"), strconv.FormatInt(change.Rows, 10), words.sums[change.Kind]})
	}
	return rows
}

func missingLines(c rebuild.Comparison, words comparisonWords) []string {
	if len(c.MissingColumns) == 0 {
		return nil
	}
	line := words.lacks + " " + strings.Join(c.MissingColumns, ", ")
	if c.OtherDefinition {
		return []string{line + ": another release built it."}
	}
	return []string{line + ": another release built it, or somebody changed it."}
}

// listedLetters is how many messages are named.
const listedLetters = 20

func letterLines(c rebuild.Comparison) []string {
	if len(c.Unreadable) == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("WARNING: messages that could be read once and can't be now: %d. What they said isn't in what is built from the stream now:", len(c.Unreadable))}
	for _, l := range c.Unreadable[:min(len(c.Unreadable), listedLetters)] {
		lines = append(lines, fmt.Sprintf("  message %d (%s): %s", l.Sequence, printable(l.Subject), printable(l.Reason)))
	}
	if more := len(c.Unreadable) - listedLetters; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return lines
}
