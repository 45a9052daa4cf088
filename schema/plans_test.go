package schema_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"callboard/schema"
	"callboard/schema/schematest"
)

// Statements that sessions prepare while generations are switched don't read two generations once the plans are
// settled. Without that, about one in a thousand does.
func TestInvalidatePlans(t *testing.T) {
	schematest.NeedOneServer(t, "it renames schemas as they are on one server")
	t.Parallel()
	const tables, sessions, statements, rounds = 12, 4, 20, 30
	database := schematest.New(t)
	admin := connectTo(t, database)
	var columns []string
	for n := range tables {
		columns = append(columns, fmt.Sprintf("(select v from projection.t%d)", n))
	}
	create := []string{"create schema generation_2"}
	for _, generation := range []string{"projection", "generation_2"} {
		for n := range tables {
			create = append(create, fmt.Sprintf("create table %[1]s.t%[2]d as select '%[1]s' as v", generation, n))
		}
	}
	schematest.Exec(t, admin, strings.Join(create, "; "))
	var conns []*pgx.Conn
	for range sessions {
		conns = append(conns, connectTo(t, database))
	}
	mixed := 0
	for round := range rounds {
		prepared := make(chan struct{}, sessions*statements)
		var preparing sync.WaitGroup
		for _, conn := range conns {
			preparing.Go(func() {
				for n := range statements {
					if _, err := conn.Prepare(t.Context(), fmt.Sprint("p", n), "select array["+strings.Join(columns, ", ")+"]"); err != nil {
						t.Error(err)
					}
					prepared <- struct{}{}
				}
			})
		}
		for range round % (sessions * statements) { // at another moment in each round
			<-prepared
		}
		const rename = "alter schema projection rename to was; alter schema generation_2 rename to projection; alter schema was rename to generation_2"
		schematest.Exec(t, admin, "begin; "+rename+"; commit")
		if err := schema.InvalidatePlans(t.Context(), admin); err != nil {
			t.Fatal(err)
		}
		preparing.Wait()
		live := []string{"generation_2", "projection"}[round%2]
		for _, conn := range conns {
			mixed += countMixed(t, conn, statements, live)
		}
	}
	if mixed > 0 {
		t.Errorf("statements that read the other generation = %d of %d, want none", mixed, rounds*sessions*statements)
	}
}

// countMixed executes the prepared statements of a session and deallocates them. It returns how many read a table that
// is not of the live generation.
func countMixed(t *testing.T, conn *pgx.Conn, statements int, live string) (mixed int) {
	t.Helper()
	for n := range statements {
		values := schematest.QueryOne[[]string](t, conn, fmt.Sprint("p", n))
		if slices.ContainsFunc(values, func(v string) bool { return v != live }) {
			mixed++
		}
		if err := conn.Deallocate(t.Context(), fmt.Sprint("p", n)); err != nil {
			t.Fatal(err)
		}
	}
	return mixed
}
