package rebuild

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"callboard/projector/fold"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

func readCatalog(t *testing.T) store.Catalog {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), schematest.New(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	c, err := store.ReadCatalog(t.Context(), conn, liveSchema)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// drawSides draws two states with tombstones of few phone systems, each on one side or on both.
func drawSides(r *rapid.T) (expected, served *fold.State) {
	expected, served = new(fold.State), new(fold.State)
	row := rapid.Custom(func(r *rapid.T) fold.Tombstone {
		return fold.Tombstone{
			TombstoneKey: fold.TombstoneKey{System: uuid.UUID{rapid.ByteRange(0, 3).Draw(r, "system")}, Key: rapid.StringMatching("[a-c]{0,3}").Draw(r, "key")},
			Version:      rapid.Int64Range(1, 2).Draw(r, "version"),
		}
	})
	for _, side := range []*fold.State{expected, served} {
		for _, t := range rapid.SliceOfN(row, 0, 60).Draw(r, "rows") {
			side.Tombstones.Put(t.TombstoneKey, t)
		}
	}
	return expected, served
}

// naiveComparison compares two states by their keys, each phone system in one piece.
func naiveComparison(expected, served *fold.State) *collector {
	c := newCollector(Config{})
	keys, systems := make(map[fold.TombstoneKey]bool), make(map[uuid.UUID][2]int64)
	for i, side := range []*fold.State{expected, served} {
		for row := range side.Tombstones.Rows() {
			keys[row.TombstoneKey] = true
			rows := systems[row.System]
			rows[i]++
			systems[row.System] = rows
		}
	}
	order := func(a, b fold.TombstoneKey) int {
		return cmp.Or(bytes.Compare(a.System[:], b.System[:]), strings.Compare(a.Key, b.Key))
	}
	summed := make(map[uuid.UUID]bool)
	for _, key := range slices.SortedFunc(maps.Keys(keys), order) {
		want, isWanted := expected.Tombstones.Get(key)
		got, isServed := served.Tombstones.Get(key)
		rows := systems[key.System]
		d := Difference{Table: "tombstone", System: key.System, Kind: KindChanged, Rows: 1, Key: []Value{
			{Column: "system_id", Expected: key.System.String()}, {Column: "entity", Expected: `""`}, {Column: "key", Expected: `"` + key.Key + `"`},
		}}
		switch {
		case !isServed:
			d.Kind = KindMissing
		case !isWanted:
			d.Kind = KindSurplus
		case want.Version != got.Version:
			d.Values = []Value{{"version", string('0' + rune(got.Version)), string('0' + rune(want.Version))}}
		}
		switch {
		case d.Kind == KindChanged && d.Values == nil:
		case min(rows[0], rows[1]) == 0 && rows[0]+rows[1] > maxListedRows:
			if !summed[key.System] {
				summed[key.System] = true
				c.add(Difference{Table: d.Table, System: d.System, Kind: d.Kind, Rows: rows[0] + rows[1]})
			}
		default:
			c.add(d)
		}
	}
	for _, rows := range systems {
		c.addRows(rows[0])
	}
	return c
}

// rowsAfter yields the rows after a key.
func rowsAfter(rows iter.Seq2[store.Row, error], key store.Key) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for row, err := range rows {
			if key != nil && err == nil && row.CompareKey(key) <= 0 {
				continue
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// Whatever the rows are, and wherever a comparison is cut into slices, it finds what a comparison of whole phone systems finds.
func TestMerge_EqualsComparisonByKey(t *testing.T) {
	t.Parallel()
	catalog := readCatalog(t)
	rapid.Check(t, func(r *rapid.T) {
		expected, served := drawSides(r)
		m := merger{collector: newCollector(Config{})}
		var after store.Key
		for more := true; more; {
			more = false
			size := rapid.IntRange(1, 40).Draw(r, "slice")
			err := m.merge(
				rowsAfter(store.FoldedRows(expected, catalog, "tombstone"), after), rowsAfter(store.FoldedRows(served, catalog, "tombstone"), after),
				func(row store.Row) bool {
					size--
					more = size == 0
					after = row.Key().Clone(nil)
					return !more
				})
			if err != nil {
				r.Fatal(err)
			}
		}
		m.finish()
		got, want := m.collector.comparison(nil, false), naiveComparison(expected, served).comparison(nil, false)
		if !reflect.DeepEqual(got, want) {
			r.Fatalf("comparison = %+v, want %+v", got, want)
		}
	})
}

func TestMerge_RefusesRowsOutOfOrder(t *testing.T) {
	t.Parallel()
	catalog := readCatalog(t)
	ordered, reversed := new(fold.State), new(fold.State)
	for _, id := range []byte{1, 2} {
		key := fold.Key{System: uuid.UUID{id}, ID: uuid.UUID{id}}
		ordered.Voicemails.Put(key, fold.Voicemail{Key: key})
	}
	key := fold.Key{System: uuid.UUID{1}, ID: uuid.UUID{1}}
	reversed.Voicemails.Put(key, fold.Voicemail{Key: key})
	rows := func(yield func(store.Row, error) bool) {
		for _, state := range []*fold.State{ordered, reversed} {
			for row, err := range store.FoldedRows(state, catalog, "voicemail") {
				if !yield(row, err) {
					return
				}
			}
		}
	}
	m := merger{collector: newCollector(Config{})}
	err := m.merge(rows, store.FoldedRows(ordered, catalog, "voicemail"), func(store.Row) bool { return true })
	if err == nil || !strings.Contains(err.Error(), "voicemail: the rows do not come in the order") {
		t.Errorf("error = %v, want one about the order", err)
	}
}
