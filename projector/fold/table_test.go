package fold_test

import (
	"slices"
	"testing"

	"callboard/projector/fold"
)

func TestTable_RowsAreInOrderOfFirstUse(t *testing.T) {
	var table fold.Table[string, int]
	table.Load("loaded", 1)
	table.Load("changed", 2)
	table.Load("deleted", 3)
	table.Put("new", 4)
	table.Put("new and deleted", 5)
	table.Put("changed", 6)
	table.Delete("deleted")
	table.Delete("new and deleted")
	table.Delete("unknown")

	var rows []int
	for row := range table.Rows() {
		rows = append(rows, *row)
	}
	if want := []int{1, 6, 4}; !slices.Equal(rows, want) {
		t.Errorf("rows = %v, want %v", rows, want)
	}
	for row := range table.Rows() {
		if *row != 1 {
			t.Errorf("first row = %d, want 1", *row)
		}
		break
	}
}

func TestTable_ChangesOmitRowsThatEqualTheirLoadedState(t *testing.T) {
	var table fold.Table[string, int]
	table.Load("same", 1)
	table.Load("changed", 2)
	table.Load("untouched", 3)
	table.Put("same", 9)
	table.Put("same", 1)
	table.Put("changed", 9)
	table.Delete("unknown")

	upserts, deletes := table.Changes()
	if len(upserts) != 1 || *upserts[0] != 9 {
		t.Errorf("upserts = %d rows, want one: 9", len(upserts))
	}
	if want := []string{"unknown"}; !slices.Equal(deletes, want) {
		t.Errorf("deletes = %v, want %v", deletes, want)
	}
}
