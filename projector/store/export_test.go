package store

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/projector/fold"
)

// CopyState exports copyState on a connection without a pool.
func CopyState(ctx context.Context, conn *pgx.Conn, state *fold.State) (int64, error) {
	s := &Store{tables: newTables(), plans: newPlans()}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return 0, err
	}
	rows, err := s.WithTx(tx).copyState(ctx, state)
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

// CopySelections returns the selections by which [StoredRows] copies a phone system's rows.
func CopySelections(c Catalog, system uuid.UUID) (selections []string) {
	for _, r := range c.relations {
		for _, statement := range c.copyStatements(r, []uuid.UUID{system}) {
			selection, _, _ := strings.Cut(strings.TrimPrefix(statement, "copy ("), ") to stdout")
			selections = append(selections, selection)
		}
	}
	return selections
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
		if err := r.encodeCopy(&encoded, state, c.widths[r.name]); err != nil {
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
