package store_test

import (
	"bytes"
	"slices"
	"testing"

	"callboard/projector/fold/foldtest"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

func TestEncodedRows_AreInTheOrderOfThePrimaryKey(t *testing.T) {
	t.Parallel()
	conn := connect(t, schematest.New(t), "projection")
	state := foldedCompany(3, 50)
	copyState(t, conn, state)
	c := readCatalog(t, conn, "")
	for _, table := range store.Tables() {
		want, statement, err := store.OrderedCopy(state, c, table)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if _, err := conn.PgConn().CopyTo(t.Context(), &got, statement); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: the rows that PostgreSQL has in the order of the key are %d bytes that differ from the %d encoded ones",
				table, got.Len(), len(want))
		}
	}
}

func TestDecodedRows_AreTheFoldedRows(t *testing.T) {
	t.Parallel()
	conn := connect(t, schematest.New(t), "projection")
	c := readCatalog(t, conn, "")
	state := folded(foldtest.FullHistory())
	for _, table := range store.Tables() {
		want := texts(t, store.FoldedRows(state, c, table))
		got := texts(t, store.DecodedRows(store.EncodedRows(state, c, store.ReadingOrder)(table), c, table))
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: rows = %v, want %v", table, got, want)
		}
	}
}
