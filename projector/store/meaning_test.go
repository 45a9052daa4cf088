package store_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/events/sample"
	"callboard/projector/fold"
	"callboard/projector/fold/foldtest"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

//nolint:gochecknoglobals // flags are
var update = flag.Bool("update", false, "record what is folded from the histories")

const meaningFile = "testdata/meaning.txt"

// What is folded from a history is what every projection in the world was folded into: a change to it needs a new number in the
// projection's definition, or releases would go on with each other's rows. Where only the sample company has changed, its digest is
// recorded anew with -update.
func TestMeaning(t *testing.T) {
	definition, err := os.ReadFile("../../schema/projection/00_generation.sql")
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`by number: (\d+)\.`).FindSubmatch(definition)
	if number == nil {
		t.Fatal("the definition names no number")
	}
	now := fmt.Sprintf("%s\n%s", number[1], meaning(t))
	if *update {
		if err := os.WriteFile(meaningFile, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	recorded, err := os.ReadFile(meaningFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(recorded) != now {
		t.Errorf("folded:\n%s\nrecorded:\n%s\nraise the number in schema/projection/00_generation.sql if the fold decides otherwise now, and run this test with -update",
			now, recorded)
	}
}

// meaning is a line for each table: how many rows, and their digest.
func meaning(t *testing.T) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), schematest.New(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	shape, err := store.ReadCatalog(t.Context(), conn, "projection")
	if err != nil {
		t.Fatal(err)
	}
	state := stateOf(history())
	var lines strings.Builder
	for _, table := range store.Tables() {
		var digest store.Digest
		for row, err := range store.FoldedRows(state, shape, []string{table}) {
			if err != nil {
				t.Fatal(err)
			}
			digest.Add(row)
		}
		fmt.Fprintf(&lines, "%s %d %x\n", table, digest.Rows, digest.Sum)
	}
	return lines.String()
}

func stateOf(history []foldtest.TimedEvent) *fold.State {
	state := new(fold.State)
	for _, e := range history {
		_, _ = state.Fold(e.Event, e.At) // what contradicts changes nothing
	}
	return state
}

func history() []foldtest.TimedEvent {
	history := foldtest.FullHistory()
	company := sample.New(sample.Config{Seed: 11, Systems: 3, Calls: 400, Days: 10, Until: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)})
	at := events.TimeOf(time.Date(2026, 6, 2, 0, 0, 0, 0, time.UTC))
	stamp := func(e events.Event) {
		at++
		history = append(history, foldtest.TimedEvent{Event: e, At: at})
	}
	for e := range company.Directory() {
		stamp(e)
	}
	for e := range company.History() {
		stamp(e)
	}
	return history
}
