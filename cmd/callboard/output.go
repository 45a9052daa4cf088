package main

import (
	"bytes"
	"cmp"
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
	return fmt.Sprintf("Key %[1]s is active, and nobody knows it. "+
		"Run 'callboard keys roll %[1]s --overlap 0s' to replace it", id)
}

// lostSecret tells how to replace the lost secret of an endpoint. The overlap keeps the earlier secret as long as it is
// valid.
func lostSecret(endpoint uuid.UUID) string {
	return fmt.Sprintf("Requests to endpoint %[1]s are signed with it, and nobody knows it. "+
		"Run 'callboard webhooks rotate %[1]s' to replace it", endpoint)
}

// asText ends each line.
func asText(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// member is a member of an object in JSON, with its value as text.
type member struct{ name, text string }

// members are what a struct has in JSON, in the struct's order.
func members(v any) (list []member) {
	text, _ := json.Marshal(v) // every struct that is printed can be encoded
	decoder := json.NewDecoder(bytes.NewReader(text))
	_, _ = decoder.Token() // the beginning of the object

	for decoder.More() {
		name, _ := decoder.Token()
		var value json.RawMessage
		_ = decoder.Decode(&value) // as above
		list = append(list, member{fmt.Sprint(name), valueText(value)})
	}
	return list
}

// valueText returns a value of JSON as text, without names of members: "-" if there is none.
func valueText(value json.RawMessage) string {
	var text string
	var parts []string
	switch value[0] {
	case '"':
		_ = json.Unmarshal(value, &text) // it is a string
		text = printable(text)

	case '[':
		var elements []json.RawMessage
		_ = json.Unmarshal(value, &elements) // it is an array
		for _, element := range elements {
			parts = append(parts, valueText(element))
		}
		text = strings.Join(parts, ",")

	case '{':
		for _, m := range members(value) {
			parts = append(parts, m.text)
		}
		text = strings.Join(parts, " ")

	case 'n': // null
	default:
		text = string(value)
	}
	return cmp.Or(text, "-")
}

// fields are rows of the names and the values that a struct has in JSON.
func fields(v any) (rows [][]string) {
	for _, m := range members(v) {
		rows = append(rows, []string{m.name, m.text})
	}
	return rows
}

// list is a table of structs with a column for each of the named members in JSON. Without structs it is the text none.
func list[T any](structs []T, none string, columns ...string) []string {
	if len(structs) == 0 {
		return []string{none}
	}
	rows := [][]string{columns}
	for _, s := range structs {
		texts := make(map[string]string)
		for _, m := range members(s) {
			texts[m.name] = m.text
		}

		// A member that JSON leaves out becomes a dash, like an empty one.
		row := make([]string, len(columns))
		for i, name := range columns {
			row[i] = cmp.Or(shortened(texts[name]), "-")
		}
		rows = append(rows, row)
	}
	return table(rows)
}

// maxCell is the number of characters of a cell of a list. --json shows all.
const maxCell = 100

func shortened(text string) string {
	if runes := []rune(text); len(runes) > maxCell {
		return string(runes[:maxCell-1]) + "…"
	}
	return text
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
