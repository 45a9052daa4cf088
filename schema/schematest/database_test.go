package schematest_test

import (
	"testing"

	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m) }

func TestNew_DatabasesAreApart(t *testing.T) {
	first, second := schematest.New(t).Pool(t), schematest.New(t).Pool(t)
	if _, err := first.Exec(t.Context(), "insert into control.generation (definition, state) values ('x', 'dropped')"); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := second.QueryRow(t.Context(), "select count(*) from control.generation").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d generations, %v; want the template's one", n, err)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		schematest.New(b)
	}
}
