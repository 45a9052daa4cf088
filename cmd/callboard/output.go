package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/google/uuid"
)

// output is the format of a command's output.
type output struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// print writes v as JSON if that is requested, and otherwise lines.
func (o output) print(w io.Writer, v any, lines ...string) error {
	if !o.JSON {
		_, err := io.WriteString(w, asText(lines))
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// errNotShown is the error of a command whose new secret is valid and nobody knows. It is printed even after an
// interruption.
var errNotShown = errors.New("the new secret was not shown")

// printSecret prints a new secret, which can't be printed again. After a failure the error is [errNotShown]. It ends
// with repair: which command replaces the secret.
func (o output) printSecret(w io.Writer, v any, lines []string, repair string) error {
	// With a handler, a pipe that nobody reads is an error of the write. Without one, it ends the program before it can
	// say anything.
	closed := make(chan os.Signal, 1)
	signal.Notify(closed, syscall.SIGPIPE)
	defer signal.Stop(closed)

	var whole bytes.Buffer
	err := o.print(&whole, v, lines...)
	if err == nil {
		_, err = w.Write(whole.Bytes())
	}
	if err != nil {
		return fmt.Errorf("%w: %w\n%s", errNotShown, err, repair)
	}
	return nil
}

// lostKey tells how to replace a key whose secret is lost. A roll is right even where an earlier key of its lineage has
// ended.
func lostKey(id uuid.UUID) string {
	return fmt.Sprintf("Key %[1]s is active, and nobody knows it. Run 'callboard keys roll %[1]s --overlap 0s' to replace it", id)
}

// lostSecret tells how to replace the lost secret of an endpoint. The overlap keeps the earlier secret as long as it is
// valid.
func lostSecret(endpoint uuid.UUID) string {
	return fmt.Sprintf("Requests to endpoint %[1]s are signed with it, and nobody knows it. Run 'callboard webhooks rotate %[1]s' to replace it", endpoint)
}

// asText ends each line.
func asText(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// table returns lines with the rows' cells in aligned columns.
func table(rows [][]string) []string {
	var b strings.Builder
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(columns, strings.Join(row, "\t"))
	}
	_ = columns.Flush() // a Builder takes everything
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
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
