package rebuild

import (
	"bytes"
	"cmp"
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
func stored(ctx context.Context, conn *pgx.Conn, shape store.Catalog) side {
	return func(tables []string, systems []uuid.UUID) iter.Seq2[store.Row, error] {
		return store.StoredRows(ctx, conn, shape, tables, systems)
	}
}

// folded are the rows of a state, as a schema of that shape would have them.
func folded(state *fold.State, shape store.Catalog) side {
	return func(tables []string, systems []uuid.UUID) iter.Seq2[store.Row, error] {
		wanted := make(map[uuid.UUID]struct{}, len(systems))
		for _, system := range systems {
			wanted[system] = struct{}{}
		}
		return func(yield func(store.Row, error) bool) {
			for row, err := range store.FoldedRows(state, shape, tables) {
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

// suspect is a place whose digests differ.
type suspect struct {
	place
	should, served int64 // rows
	held           int64 // bytes that the rows which should be served take in memory
}

func suspects(should, served map[place]store.Digest) (list []suspect) {
	for at, d := range should {
		if other := served[at]; d != other {
			list = append(list, suspect{at, d.Rows, other.Rows, held(d)})
		}
	}
	for at, d := range served {
		if _, both := should[at]; !both {
			list = append(list, suspect{at, 0, d.Rows, 0})
		}
	}
	slices.SortFunc(list, func(a, b suspect) int {
		return cmp.Or(strings.Compare(a.table, b.table), bytes.Compare(a.system[:], b.system[:]))
	})
	return list
}

// held is how much memory rows take, about, to be compared one by one.
func held(d store.Digest) int64 {
	const each = 4 << 10 // for a row's fields
	return d.Rows*each + 2*d.Bytes
}

// maxListed is how many rows are listed one by one of a place of which the other side has none.
const maxListed = 20

// differences compares the rows of suspect places one by one, several small places at a time.
func (c *collector) differences(list []suspect, should, served side) error {
	var table string
	var systems []uuid.UUID
	var taken int64
	flush := func() error {
		if len(systems) == 0 {
			return nil
		}
		err := c.oneByOne(table, systems, should, served)
		systems, taken = nil, 0
		return err
	}
	for _, s := range list {
		switch {
		case s.served == 0 && s.should > maxListed:
			c.whole(s.place, KindMissing, s.should)
			continue
		case s.should == 0 && s.served > maxListed:
			c.whole(s.place, KindSurplus, s.served)
			continue
		case s.held > c.room:
			if err := c.sliced(s, should, served); err != nil {
				return err
			}
			continue
		case s.table != table || taken+s.held > c.room:
			if err := flush(); err != nil {
				return err
			}
		}
		table = s.table
		systems, taken = append(systems, s.system), taken+s.held
	}
	return flush()
}

func (c *collector) oneByOne(table string, systems []uuid.UUID, should, served side) error {
	wanted := make(map[string]store.Row)
	for row, err := range should([]string{table}, systems) {
		if err != nil {
			return err
		}
		wanted[string(row.Key)] = kept(row)
	}
	for row, err := range served([]string{table}, systems) {
		if err != nil {
			return err
		}
		want, ok := wanted[string(row.Key)]
		delete(wanted, string(row.Key))
		switch {
		case !ok:
			c.differs(row, KindSurplus, nil)
		case !slices.EqualFunc(want.Fields, row.Fields, same):
			c.differs(row, KindChanged, want.Fields)
		}
	}
	for _, want := range wanted {
		c.differs(want, KindMissing, nil)
	}
	return nil
}

// kept is a row that outlives its iteration.
func kept(row store.Row) store.Row {
	fields := make([][]byte, len(row.Fields))
	for i, field := range row.Fields {
		if field != nil {
			fields[i] = append([]byte{}, field...)
		}
	}
	row.Fields = fields
	return row
}

// same compares two values; null is not an empty text.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

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
