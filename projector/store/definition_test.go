package store_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/big"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"callboard/events"
	"callboard/events/sample"
	"callboard/projector/fold"
	"callboard/projector/fold/foldtest"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

//nolint:gochecknoglobals // flags are
var update = flag.Bool("update", false, "record the digests of folded histories")

const definitionFile = "testdata/definition.txt"

// Every projection of this definition holds what a history was folded to. A change of that needs another definition, or releases would
// continue with each other's rows. After a change of the sample company only, -update records its digests again.
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

// foldDigests returns a line for each table: its rows, and their digest.
func foldDigests(t *testing.T) string {
	t.Helper()
	catalog := readCatalog(t, connect(t, schematest.New(t), "projection"), "projection")
	state := new(fold.State)
	foldInto(state, foldtest.FullHistory())
	company := sample.New(sample.Config{Seed: 11, Systems: 3, Calls: 400, Days: 10, Until: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)})
	foldInto(state, timed(company, events.TimeOf(time.Date(2026, 6, 2, 0, 0, 0, 0, time.UTC))))
	mask := new(big.Int).SetBytes(bytes.Repeat([]byte{0xff}, 16))
	var lines strings.Builder
	for _, table := range store.Tables() {
		rows, sum := 0, new(big.Int)
		for row, err := range store.FoldedRows(state, catalog, table) {
			if err != nil {
				t.Fatal(err)
			}
			hash := sha256.Sum256(encodeRow(row))
			sum.Add(sum, new(big.Int).SetBytes(hash[:16]))
			rows++
		}
		fmt.Fprintf(&lines, "%s %d %032x\n", table, rows, sum.And(sum, mask))
	}
	return lines.String()
}

// encodeRow returns a table's name and a row as COPY's binary format has it.
func encodeRow(row store.Row) []byte {
	encoded := binary.BigEndian.AppendUint16([]byte(row.Table), uint16(len(row.Fields)))
	for _, field := range row.Fields {
		size := uint32(len(field))
		if field == nil {
			size = math.MaxUint32
		}
		encoded = append(binary.BigEndian.AppendUint32(encoded, size), field...)
	}
	return encoded
}
