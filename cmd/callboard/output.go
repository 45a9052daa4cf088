package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// output is the format of a command's output.
type output struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// print writes v as JSON if that is requested, and otherwise calls text.
func (o output) print(w io.Writer, v any, text func(io.Writer) error) error {
	if !o.JSON {
		return text(w)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

func writeLines(w io.Writer, lines ...string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// table writes rows with aligned columns.
func table(w io.Writer, rows [][]string) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(columns, strings.Join(row, "\t"))
	}
	return columns.Flush()
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func instantOr(t *time.Time, none string) string {
	if t == nil {
		return none
	}
	return instant(*t)
}

func milliInstant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func numberOr(n *int64, none string) string {
	if n == nil {
		return none
	}
	return strconv.FormatInt(*n, 10)
}

// printable quotes a text with characters that a terminal would interpret or that would break a table's row.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) {
		return strconv.QuoteToGraphic(text)
	}
	return text
}
