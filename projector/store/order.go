package store

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"

	"callboard/events"
	"callboard/projector/fold"
)

// Order is an order of the rows of a table.
type Order int

// The orders.
const (
	ReadingOrder Order = iota // in which pages read rows: by phone system, then by time, then by key
	KeyOrder                  // of the primary key
)

// EncodedRow is a row as COPY's binary format has it. Its bytes are valid until the next row.
type EncodedRow struct {
	SortKey []byte // rows are in the order of these bytes
	Data    []byte
}

// TableRows yields the rows of a table in an order. The sequence ends at an error.
type TableRows func(table string) iter.Seq2[EncodedRow, error]

// EncodedRows returns the rows of a state that started from nothing, as they would be stored in a schema with that catalog. The error is
// [ErrRange] where an integer doesn't fit. A table that the schema lacks has no rows.
func EncodedRows(state *fold.State, c Catalog, order Order) TableRows {
	state.ApplyCorrections()
	return func(table string) iter.Seq2[EncodedRow, error] {
		r, ok := c.relation(table)
		if !ok {
			return func(func(EncodedRow, error) bool) {}
		}
		return r.encodeOrdered(state, order, c.widths[table])
	}
}

// DecodedRows yields encoded rows of a table as [StoredRows] does, in their order. They were encoded for a schema with that catalog.
func DecodedRows(encoded iter.Seq2[EncodedRow, error], c Catalog, table string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		r, ok := c.relation(table)
		if !ok {
			return
		}
		d := newDecoder(r, c)
		for row, err := range encoded {
			if err != nil {
				yield(Row{}, err)
				return
			}
			if !yield(d.encodedRow(row.Data), nil) {
				return
			}
		}
	}
}

// FoldedRows yields a state's rows of a table, in the order of their keys, as they would be stored in a schema with that catalog. The
// state started from nothing. The sequence ends at an error, [ErrRange] where an integer doesn't fit.
func FoldedRows(state *fold.State, c Catalog, table string) iter.Seq2[Row, error] {
	return DecodedRows(EncodedRows(state, c, KeyOrder)(table), c, table)
}

// rowWithSortKey is a row and the bytes by which it is sorted.
type rowWithSortKey[R any] struct {
	sortKey []byte
	row     *R
}

// sortKeyBytes is how many bytes of sort keys are allocated at once.
const sortKeyBytes = 64 << 10

// encodeOrdered yields rows by phone system, which is the first column, then by time, then by the rest of the key.
func (t table[R]) encodeOrdered(
	rows iter.Seq[*R], at func(*R) events.Time, partition int16, widths []int16,
) iter.Seq2[EncodedRow, error] {
	return func(yield func(EncodedRow, error) bool) {
		var buffer []byte
		for _, r := range t.sortRows(rows, at) {
			var err error
			buffer, err = t.encode(buffer[:0], r.row, partition, widths)
			if !yield(EncodedRow{r.sortKey, buffer}, err) || err != nil {
				return
			}
		}
	}
}

func (t table[R]) sortRows(rows iter.Seq[*R], at func(*R) events.Time) []rowWithSortKey[R] {
	var list []rowWithSortKey[R]
	var buffer []byte
	for row := range rows {
		if cap(buffer)-len(buffer) < sortKeyBytes/64 {
			buffer = make([]byte, 0, sortKeyBytes)
		}
		begin := len(buffer)
		buffer = t.columns[0].appendSortKey(buffer, row)
		buffer = binary.BigEndian.AppendUint64(buffer, uint64(at(row))^(1<<63))
		for _, c := range t.columns[1:t.key] {
			buffer = c.appendSortKey(buffer, row)
		}
		list = append(list, rowWithSortKey[R]{buffer[begin:len(buffer):len(buffer)], row})
	}
	slices.SortFunc(list, func(a, b rowWithSortKey[R]) int { return bytes.Compare(a.sortKey, b.sortKey) })
	return list
}

// appendSortKey appends bytes that are ordered as PostgreSQL orders the values of a key's column, texts by their bytes.
func (c column[R]) appendSortKey(dst []byte, row *R) []byte {
	begin := len(dst)
	dst, _ = c.encode(dst, row, 8) // an integer of 8 bytes is always in range
	dst = append(dst[:begin], dst[begin+4:]...)
	switch c.array {
	case "uuid":
	case "text":
		dst = append(dst, 0) // no text contains it, so that the next column's value doesn't follow the text
	default:
		dst[begin] ^= 0x80 // of a number, which is negative if the bit is set
	}
	return dst
}
