package schematest_test

import (
	"slices"
	"strings"
	"testing"

	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m) }

const countGenerations = "select count(*) from control.generation"

func count(t *testing.T, d *schematest.Database) int {
	t.Helper()
	n := schematest.QueryOne[int](t, d.Pool(t), countGenerations)
	return n
}

func TestNew_SeparateDatabases(t *testing.T) {
	first, second := schematest.New(t), schematest.New(t)
	const insert = "insert into control.generation (definition, state) values ('x', 'dropped')"
	schematest.Exec(t, first.Pool(t), insert)
	if n := count(t, first); n != 2 {
		t.Errorf("generations in the first database = %d, want 2", n)
	}
	if n := count(t, second); n != 1 {
		t.Errorf("generations in the second database = %d, want 1", n)
	}
}

func TestNew_AfterRestartOfTheServer(t *testing.T) {
	c := schematest.New(t).Cluster()
	c.Kill()
	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, schematest.New(t)); n != 1 {
		t.Errorf("generations = %d, want 1", n)
	}
}

func TestTables(t *testing.T) {
	d := schematest.New(t)
	empty := d.Projection(t)
	const insert = "insert into projection.phone_system_group values (gen_random_uuid(), 1, 'Pilot', '{}')"
	schematest.Exec(t, d.Pool(t), insert)
	filled := d.Projection(t)
	if list := filled.Diff(empty); len(list) != 1 || !strings.HasPrefix(list[0], "phone_system_group: 1 only in the first: (") {
		t.Errorf("differences = %v, want the row", list)
	}
	d.ClearProjection(t)
	if list := d.Projection(t).Diff(empty); len(list) > 0 {
		t.Errorf("differences after the rows are deleted = %v, want none", list)
	}
}

func TestTables_Diff(t *testing.T) {
	first := schematest.Tables{"a": {"1", "2", "4"}, "b": {"1"}}
	second := schematest.Tables{"a": {"2", "3", "4"}, "c": {"5", "6"}}
	want := []string{
		"a: 1 only in the first: 1", "a: 1 only in the second: 3", "b: 1 only in the first: 1", "c: 2 only in the second: 5",
	}
	if got := first.Diff(second); !slices.Equal(got, want) {
		t.Errorf("differences = %q, want %q", got, want)
	}
	if got := first.Diff(first); len(got) > 0 {
		t.Errorf("differences from itself = %q, want none", got)
	}
}
