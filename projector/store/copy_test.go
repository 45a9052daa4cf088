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

// classificationsCopy is a COPY of two rows, and what takes it.
func classificationsCopy(t *rapid.T) ([]byte, *copyOut, *[]string) {
	t.Helper()
	state := new(fold.State)
	for _, code := range []string{"sales", ""} {
		key := fold.ClassificationKey{System: uuid.UUID{15: 1}, Kind: "category", Code: code}
		state.Classifications.Put(key, fold.Classification{ClassificationKey: key, Label: "Sales"})
	}
	shape := Catalog{widths: map[string][]int16{"classification": {16, -1, -1, 8, -1, 0, 8, 8}}}
	r := shape.has(Tables())[0]
	var written bytes.Buffer
	if err := r.copyTo(&written, state, shape.widths[r.name]); err != nil {
		t.Fatal(err)
	}
	codes := new([]string)
	return written.Bytes(), &copyOut{framing: newFraming(r, shape), yield: func(row Row, err error) bool {
		*codes = append(*codes, string(row.Fields[2]))
		if row.System != (uuid.UUID{15: 1}) || row.Fields[5] != nil || row.Fields[6] != nil || len(row.Fields[7]) != 8 || err != nil {
			t.Fatalf("row %v, %v", row, err)
		}
		return true
	}}, codes
}

// Wherever what is written is cut, the same rows come of it.
func TestCopyOut_TakesPartsOfAnySize(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		data, out, codes := classificationsCopy(r)
		for len(data) > 0 {
			part := slices.Clone(data[:rapid.IntRange(1, len(data)).Draw(r, "part")])
			data = data[len(part):]
			if n, err := out.Write(part); n != len(part) || err != nil {
				r.Fatalf("%d of %d bytes taken, %v", n, len(part), err)
			}
			clear(part) // is its writer's
		}
		if err := out.whole(); err != nil || !slices.Equal(*codes, []string{"", "sales"}) {
			r.Fatalf("%q, %v", *codes, err)
		}
	})
}

// What was damaged is an error or is taken for other rows, but breaks nothing; what is cut off is an error.
func TestCopyOut_NoticesWhatIsNoCopy(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		data, out, _ := classificationsCopy(r)
		cut := rapid.IntRange(0, len(data)-1).Draw(r, "cut")
		if _, err := out.Write(data[:cut]); err != nil || out.whole() == nil {
			r.Fatalf("cut after %d bytes: %v, %v", cut, err, out.whole())
		}
		data, out, _ = classificationsCopy(r)
		if _, err := out.Write(append(data, data[copyHeader:]...)); !errors.Is(err, errCopy) {
			r.Fatalf("more behind the end: %v", err)
		}
		data, out, _ = classificationsCopy(r)
		out.yield = func(Row, error) bool { return true }
		at := rapid.IntRange(0, len(data)-1).Draw(r, "damaged")
		data[at] ^= byte(rapid.IntRange(1, 255).Draw(r, "damage"))
		_, err := out.Write(data)
		if at < copyHeader+2 && !errors.Is(err, errCopy) && out.whole() == nil {
			r.Fatalf("damaged at %d: no error", at)
		}
	})
}
