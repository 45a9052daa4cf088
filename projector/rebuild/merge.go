package rebuild

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"github.com/google/uuid"

	"callboard/projector/fold"
	"callboard/projector/store"
)

// tableRows yields the rows of a table in the order of their keys.
type tableRows func(table string) iter.Seq2[store.Row, error]

// merger compares two sides, a table at a time, and holds two rows. It knows what differs in the rows of one phone system in one table,
// also when these are compared in several calls.
type merger struct {
	collector        *collector
	pending          fold.Corrections // that no watermark has reached: the served calls can have their times already
	table            string
	system           uuid.UUID
	expected, served int64        // rows of the phone system
	differences      []Difference // the first maxListedRows of the phone system
}

// tables compares tables whole.
func (m *merger) tables(names []string, expected, served tableRows) error {
	all := func(store.Row) bool { return true }
	for _, name := range names {
		if err := m.merge(expected(name), served(name), all); err != nil {
			return err
		}
	}
	m.finish()
	return nil
}

// merge compares rows of one table, which both sides yield in the order of their keys. It calls next with a row of every key, once the key
// is compared, and ends when next returns false. The caller finishes the merger after its last merge.
func (m *merger) merge(expected, served iter.Seq2[store.Row, error], next func(store.Row) (more bool)) error {
	want, err := newRowCursor(expected)
	defer want.stop()
	if err != nil {
		return err
	}
	got, err := newRowCursor(served)
	defer got.stop()
	if err != nil {
		return err
	}
	for want.ok || got.ok {
		by := want.compare(got)
		row := want.row
		if by > 0 {
			row = got.row
		}
		m.begin(row)
		switch {
		case by < 0:
			m.missing(row)
		case by > 0:
			m.surplus(row)
		default:
			m.both(want.row, got.row)
		}
		if !next(row) {
			return nil
		}
		if by <= 0 {
			err = want.advance()
		}
		if by >= 0 && err == nil {
			err = got.advance()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begin finishes the phone system before, if the row is of another one or of another table.
func (m *merger) begin(row store.Row) {
	if row.Table != m.table || row.System != m.system {
		m.finish()
		m.table, m.system = row.Table, row.System
	}
}

func (m *merger) missing(row store.Row) {
	m.expected++
	m.collector.calls.oneSided(row, KindMissing)
	m.add(row, KindMissing, nil)
}

func (m *merger) surplus(row store.Row) {
	m.served++
	m.collector.calls.oneSided(row, KindSurplus)
	m.add(row, KindSurplus, nil)
}

func (m *merger) both(expected, served store.Row) {
	m.expected++
	m.served++
	if !slices.EqualFunc(expected.Fields, served.Fields, equalValues) && !m.corrected(expected, served) {
		m.collector.calls.changed(expected, served)
		m.add(served, KindChanged, changedValues(served, expected.Fields))
	}
}

// corrected tells whether a served call differs only because it has the time of a correction before the watermark reaches it.
func (m *merger) corrected(expected, served store.Row) bool {
	if len(m.pending) == 0 || served.Table != "call_log" {
		return false
	}
	for i, column := range served.Columns() {
		if column != "updated_at" && !equalValues(expected.Fields[i], served.Fields[i]) {
			return false
		}
	}
	call := fold.CallLog{Key: fold.Key{System: served.System, ID: rowID(served)}, UpdatedAt: expected.Time("updated_at")}
	return m.pending.Explain(call, served.Time("updated_at"))
}

// add counts a difference. Whether it is listed is decided when the phone system is finished.
func (m *merger) add(row store.Row, kind Kind, values []Value) {
	d := Difference{Table: row.Table, System: row.System, Kind: kind, Rows: 1, Values: values}
	m.collector.count(d)
	if len(m.differences) == maxListedRows {
		return
	}
	for i, column := range row.KeyColumns() {
		d.Key = append(d.Key, Value{Column: column, Expected: row.FormatKey(i)})
	}
	m.differences = append(m.differences, d)
}

// finish lists the phone system's differences. If it has rows on one side only, and many, they are one difference.
func (m *merger) finish() {
	if rows := m.expected + m.served; min(m.expected, m.served) == 0 && rows > maxListedRows {
		m.differences = []Difference{{Table: m.table, System: m.system, Kind: m.differences[0].Kind, Rows: rows}}
	}
	for _, d := range m.differences {
		m.collector.list(d)
	}
	m.collector.addRows(m.expected)
	m.expected, m.served, m.differences = 0, 0, nil
}

// changedValues returns the columns in which a served row differs from the expected fields.
func changedValues(served store.Row, expected [][]byte) (values []Value) {
	for i, name := range served.Columns() {
		if !equalValues(expected[i], served.Fields[i]) {
			values = append(values, Value{name, served.Format(i, served.Fields[i]), served.Format(i, expected[i])})
		}
	}
	return values
}

// equalValues compares two values; null differs from an empty text.
func equalValues(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// rowCursor is at one row of a sequence.
type rowCursor struct {
	next func() (store.Row, error, bool)
	stop func()
	row  store.Row
	ok   bool      // false: after the last row
	key  store.Key // a copy of the row's key
}

// newRowCursor is at the first row. The caller stops it, also after an error.
func newRowCursor(rows iter.Seq2[store.Row, error]) (*rowCursor, error) {
	c := new(rowCursor)
	c.next, c.stop = iter.Pull2(rows)
	return c, c.advance()
}

// advance moves to the next row. Rows in another order would be taken for differences, so they are an error.
func (c *rowCursor) advance() error {
	row, err, ok := c.next()
	if err != nil {
		return err
	}
	if ok && c.ok && row.CompareKey(c.key) < 0 {
		return fmt.Errorf("compare %s: the rows do not come in the order of their keys", row.Table)
	}
	if c.row, c.ok = row, ok; ok {
		c.key = row.Key().Clone(c.key)
	}
	return nil
}

// compare is negative if the other cursor is at a later key or after its last row, and positive in the opposite case.
func (c *rowCursor) compare(other *rowCursor) int {
	switch {
	case !other.ok:
		return -1
	case !c.ok:
		return 1
	}
	return c.row.CompareKey(other.key)
}
