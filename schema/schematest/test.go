package schematest

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Test is a test with a database, for harnesses to embed.
type Test struct {
	*testing.T
	Database *Database
	Super    *pgxpool.Pool // of superuser connections
}

// NewTest returns a test with a database.
func NewTest(t *testing.T, database *Database) Test {
	t.Helper()
	return Test{t, database, database.Pool(t)}
}

// Must fails the test if there is an error.
func (t Test) Must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Exec executes statements as the superuser.
func (t Test) Exec(sql string, arguments ...any) {
	t.Helper()
	Exec(t, t.Super, sql, arguments...)
}

// Text returns the only column of a query's only row, as text: "null" without a row or a value.
func (t Test) Text(query string, arguments ...any) string {
	t.Helper()
	return QueryOne[string](t, t.Super, "select coalesce(("+query+")::text, 'null')", arguments...)
}

// Want compares what [Test.Text] returns.
func (t Test) Want(what, want, query string, arguments ...any) {
	t.Helper()
	if got := t.Text(query, arguments...); got != want {
		t.Errorf("%s = %s, want %s", what, got, want)
	}
}
