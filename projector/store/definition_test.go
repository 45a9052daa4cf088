package store_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"callboard/events"
	"callboard/events/sample"
)

//nolint:gochecknoglobals // flags are
var update = flag.Bool("update", false, "record the digests of folded histories")

const definitionFile = "testdata/definition.txt"

// Every projection of this definition holds what a history was folded to. A change of that needs another
// definition, or releases would continue with each other's rows. After a change of the sample company only, -update
// records its digests again.
func TestDefinition_ChangesWithTheFold(t *testing.T) {
	t.Parallel()
	ddl, err := os.ReadFile("../../schema/projection/00_generation.sql")
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`The number of the fold rules: (\d+)\.`).FindSubmatch(ddl)
	if number == nil {
		t.Fatal("00_generation.sql names no number of the fold rules")
	}
	got := fmt.Sprintf("%s\n%s", number[1], foldDigests(t))
	if *update {
		if err := os.WriteFile(definitionFile, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(definitionFile)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("folded rows = \n%s, want\n%s\nIf the fold decides otherwise now, raise the number in schema/projection/00_generation.sql. "+
			"Run this test with -update.", got, want)
	}
}

// foldDigests returns a line for each table: the number of its rows, and their digest.
func foldDigests(t *testing.T) string {
	t.Helper()
	s, database, _ := openStore(t)
	position := claim(t, s)
	for _, e := range fullHistory() {
		position = applyBatch(t, s, position, []timedEvent{e})
	}
	company := sample.New(sample.Config{Seed: 11, Systems: 3, Calls: 400, Days: 10, Until: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)})
	applyBatch(t, s, position, timed(company, events.TimeOf(time.Date(2026, 6, 2, 0, 0, 0, 0, time.UTC))))

	var lines strings.Builder
	tables := database.Projection(t)
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		fmt.Fprintf(&lines, "%s %d %x\n", table, len(tables[table]), sha256.Sum256([]byte(strings.Join(tables[table], "\n"))))
	}
	return lines.String()
}
