package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/projector/fold"
)

// CopyState copies a state's rows on a connection without a pool.
func CopyState(ctx context.Context, conn *pgx.Conn, state *fold.State) (int64, error) {
	s := &Store{tables: newTables(), plans: newPlans()}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return 0, err
	}
	var rows int64
	catalog, err := s.ownCatalog(ctx, conn)
	if err == nil {
		rows, err = s.WithTx(tx).copyRows(ctx, EncodedRows(state, catalog, ReadingOrder))
	}
	if err != nil {
		_ = tx.Rollback(ctx)
		return 0, err
	}
	return rows, tx.Commit(ctx)
}

// RegisterArrays lets a connection send the arguments that a batch's statements were recorded with.
func RegisterArrays(conn *pgx.Conn) { registerArrays(conn.TypeMap()) }

// EncodeArray encodes an array parameter of a type whose elements are named like another one.
func EncodeArray(m *pgtype.Map, oid uint32, format int16, element string) ([]byte, error) {
	registerArrays(m)
	none := func(dst []byte) ([]byte, error) { return dst, nil }
	return m.Encode(oid, format, array{element: element, appendElements: none}, nil)
}

// Columns returns the columns of a table, in the order of a [Row]'s fields.
func Columns(table string) []string { return relationOf(table).columns }

// Format formats a value like [Row.Format].
func Format(table, column string, value []byte) string {
	r := relationOf(table)
	return r.formatValue(slices.Index(r.columns, column), value)
}

// Scans returns the statements of [StoredRows] for the tables of some rows, from the beginning and after the row, with their arguments.
func Scans(c Catalog, rows map[string]Row) map[string][][]byte {
	return scans(c, rows, func(r relation, _ Row) scan { return c.scan(r) })
}

// ScansOfSystem returns the statements of [StoredRowsOf] for the rows' phone systems, like [Scans].
func ScansOfSystem(c Catalog, rows map[string]Row) map[string][][]byte {
	return scans(c, rows, func(r relation, row Row) scan {
		if r.ofNoSystem() {
			return c.scan(r)
		}
		s := c.scanOfSystem(r)
		s.arguments = c.systemArguments(r, row.System)
		return s
	})
}

func scans(c Catalog, rows map[string]Row, of func(relation, Row) scan) map[string][][]byte {
	statements := make(map[string][][]byte)
	for table, row := range rows {
		r, _ := c.relation(table)
		s := of(r, row)
		for _, after := range []Key{nil, row.Key()} {
			if after == nil || len(s.key) > 0 { // else a phone system has one row
				sql, arguments := s.statement(after)
				statements[sql] = arguments
			}
		}
	}
	return statements
}

func relationOf(table string) *relation {
	for _, r := range newTables().relations {
		if r.name == table {
			return &r
		}
	}
	return nil
}

// MeasureCopy copies the bytes that a state is encoded to, and returns their number and the time without the encoding: the baseline of a
// benchmark.
func MeasureCopy(ctx context.Context, conn *pgx.Conn, state *fold.State) (size int64, took time.Duration, err error) {
	c, err := ReadCatalog(ctx, conn, "")
	if err != nil {
		return 0, 0, err
	}
	for _, r := range c.relations {
		var encoded bytes.Buffer
		if err := writeCopy(&encoded, EncodedRows(state, c, ReadingOrder)(r.name)); err != nil {
			return 0, 0, err
		}
		size += int64(encoded.Len())
		began := time.Now()
		if _, err := conn.PgConn().CopyFrom(ctx, io.Reader(&encoded), c.copyInStatement(r)); err != nil {
			return 0, 0, err
		}
		took += time.Since(began)
	}
	return size, took, nil
}

// OrderedCopy returns a state's rows of a table as a whole COPY in the order of the key, and a statement that copies stored rows so.
func OrderedCopy(state *fold.State, c Catalog, table string) (encoded []byte, statement string, err error) {
	r := relationOf(table)
	key := slices.Clone(r.columns[:r.key])
	for i, name := range key {
		if slices.Contains([]string{"entity", "key", "kind", "code", "list", "subset", "family", "owner", "recording_sid"}, name) {
			key[i] = name + ` collate "C"`
		}
	}
	var b bytes.Buffer
	err = writeCopy(&b, EncodedRows(state, c, KeyOrder)(table))
	return b.Bytes(), fmt.Sprintf("copy (select %s from %s order by %s) to stdout (format binary)", c.columns(*r), table, strings.Join(key, ", ")), err
}
