package rebuild

import (
	"bytes"
	"cmp"
	"context"
	"hash/maphash"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/projector/fold"
	"callboard/projector/store"
)

// rowSource yields the rows of some tables that belong to some phone systems.
type rowSource func(tables []string, systems []uuid.UUID) iter.Seq2[store.Row, error]

// storedRows yields the rows of a schema.
func storedRows(ctx context.Context, conn *pgx.Conn, catalog store.Catalog) rowSource {
	return func(tables []string, systems []uuid.UUID) iter.Seq2[store.Row, error] {
		return store.StoredRows(ctx, conn, catalog, tables, systems)
	}
}

// foldedRows yields the rows of a state, with the columns of a schema.
func foldedRows(state *fold.State, catalog store.Catalog) rowSource {
	return func(tables []string, systems []uuid.UUID) iter.Seq2[store.Row, error] {
		selected := make(map[uuid.UUID]struct{}, len(systems))
		for _, system := range systems {
			selected[system] = struct{}{}
		}
		return func(yield func(store.Row, error) bool) {
			for row, err := range store.FoldedRows(state, catalog, tables) {
				if _, ok := selected[row.System]; (ok || err != nil) && !yield(row, err) {
					return
				}
			}
		}
	}
}

// digestKey says what a digest is of: the rows of one phone system in one table.
type digestKey struct {
	table  string
	system uuid.UUID
}

func digests(rows iter.Seq2[store.Row, error]) (map[digestKey]store.Digest, error) {
	all := make(map[digestKey]*store.Digest)
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		key := digestKey{row.Table, row.System}
		d := all[key]
		if d == nil {
			d = new(store.Digest)
			all[key] = d
		}
		d.Add(row)
	}
	result := make(map[digestKey]store.Digest, len(all))
	for key, d := range all {
		result[key] = *d
	}
	return result, nil
}

// mismatch is a pair of digests that differ.
type mismatch struct {
	digestKey
	expected, served int64 // rows
	memory           int64 // bytes that the expected rows need
}

func mismatches(expected, served map[digestKey]store.Digest) (list []mismatch) {
	for key, d := range expected {
		if other := served[key]; d != other {
			list = append(list, mismatch{key, d.Rows, other.Rows, memoryFor(d)})
		}
	}
	for key, d := range served {
		if _, both := expected[key]; !both {
			list = append(list, mismatch{key, 0, d.Rows, 0})
		}
	}
	slices.SortFunc(list, func(a, b mismatch) int {
		return cmp.Or(strings.Compare(a.table, b.table), bytes.Compare(a.system[:], b.system[:]))
	})
	return list
}

// memoryFor estimates the bytes of memory that rows need to be compared one by one.
func memoryFor(d store.Digest) int64 {
	const fields = 4 << 10 // of one row
	return d.Rows*fields + 2*d.Bytes
}

// cloneRow returns a row that outlives its iteration.
func cloneRow(row store.Row) store.Row {
	fields := make([][]byte, len(row.Fields))
	for i, field := range row.Fields {
		if field != nil {
			fields[i] = append([]byte{}, field...)
		}
	}
	row.Fields = fields
	return row
}

// equalValues compares two values; null differs from an empty text.
func equalValues(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// slicer divides the rows of a mismatch that does not fit in memory into slices, by a hash of their keys.
type slicer struct {
	digestKey
	seed  maphash.Seed
	count uint64
}

// slicesPerLimit is about how many slices fit in memory together.
const slicesPerLimit = 8

func newSlicer(m mismatch, memory int64) slicer {
	return slicer{m.digestKey, maphash.MakeSeed(), uint64(min(m.memory/max(memory/slicesPerLimit, 1), m.expected) + 1)}
}

func (s slicer) sliceOf(row store.Row) uint64 { return maphash.Bytes(s.seed, row.Key) % s.count }

// digests returns the digest of every slice.
func (s slicer) digests(rows rowSource) ([]store.Digest, error) {
	digests := make([]store.Digest, s.count)
	for row, err := range rows([]string{s.table}, []uuid.UUID{s.system}) {
		if err != nil {
			return nil, err
		}
		digests[s.sliceOf(row)].Add(row)
	}
	return digests, nil
}

// only yields the rows of some slices.
func (s slicer) only(rows rowSource, slices map[uint64]bool) rowSource {
	return func(tables []string, systems []uuid.UUID) iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			for row, err := range rows(tables, systems) {
				if (err != nil || slices[s.sliceOf(row)]) && !yield(row, err) {
					return
				}
			}
		}
	}
}
