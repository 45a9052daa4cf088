package store

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/projector/fold"
)

// classificationsCopy returns a COPY of two rows, a copyOut for it, and the codes that this yields.
func classificationsCopy(t *rapid.T) ([]byte, *copyOut, *[]string) {
	t.Helper()
	state := new(fold.State)
	for _, code := range []string{"sales", ""} {
		key := fold.ClassificationKey{System: uuid.UUID{15: 1}, Kind: "category", Code: code}
		state.Classifications.Put(key, fold.Classification{ClassificationKey: key, Label: "Sales"})
	}
	c := Catalog{
		relations: []relation{classifications().relation()},
		widths:    map[string][]int16{"classification": {16, -1, -1, 8, -1, 0, 8, 8}},
	}
	var written bytes.Buffer
	if err := writeCopy(&written, EncodedRows(state, c, ReadingOrder)("classification")); err != nil {
		t.Fatal(err)
	}
	codes := new([]string)
	return written.Bytes(), &copyOut{decoder: newDecoder(c.relations[0], c), yield: func(row Row, err error) bool {
		*codes = append(*codes, string(row.Fields[2]))
		if row.System != (uuid.UUID{15: 1}) || row.Fields[5] != nil || row.Fields[6] != nil || len(row.Fields[7]) != 8 || err != nil {
			t.Fatalf("row %v, %v", row, err)
		}
		return true
	}}, codes
}

func TestCopyOut_AcceptsPartsOfAnySize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		data, out, codes := classificationsCopy(r)
		for len(data) > 0 {
			part := slices.Clone(data[:rapid.IntRange(1, len(data)).Draw(r, "part")])
			data = data[len(part):]
			if n, err := out.Write(part); n != len(part) || err != nil {
				r.Fatalf("written = %d of %d bytes, %v", n, len(part), err)
			}
			clear(part) // its owner may reuse it
		}
		if err := out.checkEnd(); err != nil || !slices.Equal(*codes, []string{"", "sales"}) {
			r.Fatalf("codes = %q, %v, want both", *codes, err)
		}
	})
}

// Damaged data is an error, or is read as other rows; it never panics. Data without its end is an error.
func TestCopyOut_DetectsDamage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		data, out, _ := classificationsCopy(r)
		cut := rapid.IntRange(0, len(data)-1).Draw(r, "cut")
		if _, err := out.Write(data[:cut]); err != nil || out.checkEnd() == nil {
			r.Fatalf("cut after %d bytes: errors = %v, %v, want one at the end", cut, err, out.checkEnd())
		}
		data, out, _ = classificationsCopy(r)
		if _, err := out.Write(append(data, data[copyHeader:]...)); !errors.Is(err, errCopy) {
			r.Fatalf("data behind the end: error = %v, want errCopy", err)
		}
		data, out, _ = classificationsCopy(r)
		out.yield = func(Row, error) bool { return true }
		at := rapid.IntRange(0, len(data)-1).Draw(r, "damaged")
		data[at] ^= byte(rapid.IntRange(1, 255).Draw(r, "damage"))
		_, err := out.Write(data)
		if at < copyHeader+2 && !errors.Is(err, errCopy) && out.checkEnd() == nil {
			r.Fatalf("damaged at %d: error = nil, want one", at)
		}
	})
}
