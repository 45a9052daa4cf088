package store

import (
	"iter"

	"callboard/projector/fold"
)

// Folded are a state's rows of some tables, as they would be stored in a schema of that shape: without what isn't there. The state
// started from nothing. A table's rows come in no particular order. It ends at an error: [ErrRange] where an integer doesn't fit.
func FoldedRows(state *fold.State, shape Catalog, tables []string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, r := range shape.has(tables) {
			f := newFraming(r, shape)
			for encoded, err := range r.encoded(state, false, f.widths, r.name) {
				if err != nil {
					yield(Row{}, err)
					return
				}
				if !yield(f.row(encoded), nil) {
					return
				}
			}
		}
	}
}
