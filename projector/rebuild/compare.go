package rebuild

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/projector/fold"
	"callboard/projector/store"
)

// side gives the rows of some tables that belong to some phone systems.
type side func(tables []string, systems []uuid.UUID) iter.Seq2[store.Row, error]

// stored are the rows of a schema.
func stored(ctx context.Context, conn *pgx.Conn, shape store.Shape) side {
	return func(tables []string, systems []uuid.UUID) iter.Seq2[store.Row, error] {
		return store.Stored(ctx, conn, shape, tables, systems)
	}
}

// folded are the rows of a state, as a schema of that shape would have them.
func folded(state *fold.State, shape store.Shape) side {
	return func(tables []string, systems []uuid.UUID) iter.Seq2[store.Row, error] {
		wanted := make(map[uuid.UUID]struct{}, len(systems))
		for _, system := range systems {
			wanted[system] = struct{}{}
		}
		return func(yield func(store.Row, error) bool) {
			for row, err := range store.Folded(state, shape, tables) {
				if _, ok := wanted[row.System]; (ok || err != nil) && !yield(row, err) {
					return
				}
			}
		}
	}
}

// place is where a digest is of: one phone system's rows of one table.
type place struct {
	table  string
	system uuid.UUID
}

// digests are those of every place that has rows.
func digests(rows iter.Seq2[store.Row, error]) (map[place]store.Digest, error) {
	all := make(map[place]*store.Digest)
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		at := place{row.Table, row.System}
		d := all[at]
		if d == nil {
			d = new(store.Digest)
			all[at] = d
		}
		d.Add(row)
	}
	result := make(map[place]store.Digest, len(all))
	for at, d := range all {
		result[at] = *d
	}
	return result, nil
}

// suspects are the places whose digests differ, with the larger number of rows.
func suspects(should, served map[place]store.Digest) map[place]int64 {
	list := make(map[place]int64)
	for at, d := range should {
		if other := served[at]; d != other {
			list[at] = max(d.Rows, other.Rows)
		}
	}
	for at, d := range served {
		if _, both := should[at]; !both {
			list[at] = d.Rows
		}
	}
	return list
}

// maxHeld is how many rows are compared one by one at a time, at least one place's.
const maxHeld = 200_000

// differences compares the rows of suspect places one by one.
func (c *collector) differences(list map[place]int64, should, served side) error {
	for _, table := range store.Tables() {
		var systems []uuid.UUID
		var rows int64
		for at, n := range list {
			if at.table != table {
				continue
			}
			if rows+n > maxHeld && rows > 0 {
				if err := c.oneByOne(table, systems, should, served); err != nil {
					return err
				}
				systems, rows = nil, 0
			}
			systems, rows = append(systems, at.system), rows+n
		}
		if err := c.oneByOne(table, systems, should, served); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) oneByOne(table string, systems []uuid.UUID, should, served side) error {
	if len(systems) == 0 {
		return nil
	}
	slices.SortFunc(systems, func(a, b uuid.UUID) int { return strings.Compare(string(a[:]), string(b[:])) })
	wanted := make(map[string]held)
	for row, err := range should([]string{table}, systems) {
		if err != nil {
			return err
		}
		wanted[string(row.Key)] = hold(row)
	}
	for row, err := range served([]string{table}, systems) {
		if err != nil {
			return err
		}
		want, ok := wanted[string(row.Key)]
		delete(wanted, string(row.Key))
		if !ok || !equal(want.fields, row.Fields) {
			c.differs(table, row.System, keys(row), want.fields, row.Fields)
		}
	}
	for _, want := range wanted {
		c.differs(table, want.system, want.keys, want.fields, nil)
	}
	return nil
}

// held is a row that outlives its iteration.
type held struct {
	system uuid.UUID
	keys   int
	fields [][]byte
}

func hold(row store.Row) held {
	fields := make([][]byte, len(row.Fields))
	for i, field := range row.Fields {
		fields[i] = slices.Clone(field)
		if field != nil && fields[i] == nil {
			fields[i] = []byte{}
		}
	}
	return held{row.System, keys(row), fields}
}

// keys is how many of a row's columns are its key.
func keys(row store.Row) (n int) {
	for size := 0; size < len(row.Key); n++ {
		size += 4 + len(row.Fields[n])
	}
	return n
}

func equal(a, b [][]byte) bool {
	return slices.EqualFunc(a, b, func(x, y []byte) bool { return (x == nil) == (y == nil) && string(x) == string(y) })
}

// watched tells of every row that goes by.
func watched(rows iter.Seq2[store.Row, error], seen func()) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for row, err := range rows {
			seen()
			if !yield(row, err) {
				return
			}
		}
	}
}
