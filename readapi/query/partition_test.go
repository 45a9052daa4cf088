package query

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
	"callboard/readapi/encode"
	"callboard/schema/schematest"
)

// Where the tables are divided by partition, every statement about a phone system scans one of the parts.
func TestSQL_TouchesOnePartition(t *testing.T) {
	schematest.NeedOneServer(t, "it divides the tables of one server")
	t.Parallel()
	database := schematest.New(t)
	database.DivideByPartition(t)
	conn := connect(t, database)
	for name, s := range ofOnePartition(t) {
		plan := explain(t, conn, s)
		if got := schematest.ScannedPartitions(plan); strings.Trim(strings.Join(got, ""), "0") != "" || len(got) == 0 {
			t.Errorf("%s: partitions scanned = %v, want 0\n%s", name, got, plan)
		}
	}
}

// ofOnePartition are the statements about one phone system. The phone systems of an organization or a group are in any
// partition, and the metrics are about all of them.
func ofOnePartition(tb testing.TB) map[string]statement {
	tb.Helper()
	all := statements(tb)
	for _, name := range []string{"list_accessible_phone_systems_of_group", "list_accessible_phone_systems_of_organization", "freshness"} {
		delete(all, name)
	}
	return all
}

// Where the tables are distributed over nodes, every statement about a phone system is one task of one node.
func TestSQL_TouchesOneNode(t *testing.T) {
	schematest.NeedNodes(t)
	t.Parallel()
	conn := connect(t, schematest.New(t))
	for name, s := range ofOnePartition(t) {
		plan := explain(t, conn, s)
		if parts, single := schematest.Tasks(plan); parts != 1 || !single {
			t.Errorf("%s: want one task\n%s", name, plan)
		}
	}
}

// addSystem adds a phone system in its partition of a generation, which is said to have that many partitions.
func addSystem(t *testing.T, database *schematest.Database, partitions int, name string) uuid.UUID {
	t.Helper()
	id := uuid.New()
	execAll(t, database.Pool(t), "update projection.generation set partitions = null")
	_, err := database.Pool(t).Exec(t.Context(), "insert into projection.phone_system (partition, id, version, name) values ($1, $2, 1, $3)",
		events.Partition(id, partitions), id, name)
	if err == nil {
		_, err = database.Pool(t).Exec(t.Context(), "update projection.generation set partitions = $1", partitions)
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// A generation with another number of partitions goes live while the reader runs: it finds each phone system, and
// no other one.
func TestProjection_NumberOfPartitionsChanges(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	projection := New(database.Pool(t))
	names := func(system uuid.UUID) string {
		t.Helper()
		rows := encode.NewRowWriter(encode.NewLayout(encode.Identifier("id"), encode.Text("name")), uuid.Nil, nil)
		if err := projection.PhoneSystems(t.Context(), access.Grant{Kind: access.GrantSystem, ID: system}, rows); err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(rows.Body), system.String(), "ID")
	}
	if got := names(uuid.New()); got != "" {
		t.Errorf("before any partition was claimed: phone systems = %s, want none", got)
	}
	for _, partitions := range []int{1, 16, 3, 16, 7} {
		execAll(t, database.Pool(t), "truncate projection.phone_system")
		for range 8 {
			system := addSystem(t, database, partitions, "one")
			if got := names(system); got != `{"id":"ID","name":"one"}` {
				t.Errorf("%d partitions: phone systems = %s, want one", partitions, got)
			}
		}
		if got := names(uuid.New()); got != "" {
			t.Errorf("%d partitions: phone systems = %s, want none", partitions, got)
		}
	}
}

// Each time a statement finds nothing, the generation has another number of partitions.
func TestProjection_NumberOfPartitionsChangesAgainAndAgain(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	pool := database.Pool(t)
	projection := New(pool)
	changes := 0
	run := func(sql string, arguments []any, read read) error {
		if sql == locateSQL {
			changes++
			schematest.Exec(t, pool, "update projection.generation set partitions = $1", changes)
		}
		return projection.runShort(t.Context())(sql, arguments, read)
	}
	err := projection.ofSystem(run, phoneSystemsOfSystemSQL, uuid.New(), nil, appendRows(nil))
	if !errors.Is(err, access.ErrSwitching) || changes != access.Attempts {
		t.Errorf("error = %v after %d changes, want %v after %d", err, changes, access.ErrSwitching, access.Attempts)
	}
}
