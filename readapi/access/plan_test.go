package access_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"callboard/cmd/connection"
	"callboard/readapi/access"
	"callboard/schema/schematest"
)

const (
	systemID = "b0000000-0000-4000-8000-000000000001"
	groupID  = "a0000000-0000-4000-8000-000000000001"
)

// fillGroup adds a group of 100,000 phone systems and its key, whose short part is "short".
const fillGroup = `
	insert into projection.phone_system (id, version, name, partition)
	select md5(n::text)::uuid, 1, 'system', 0 from generate_series(2, 100000) n
	union all
	select '` + systemID + `', 1, 'system', 0;
	insert into projection.phone_system_group (id, version, name, phone_system_ids)
	select '` + groupID + `', 1, 'all', array_agg(id) from projection.phone_system;
	insert into projection.phone_system_group_member (group_id, system_id)
	select '` + groupID + `', id from projection.phone_system;
	insert into access.key (id, lineage, name, short, hash, pepper_id, grant_kind, grant_id, scopes)
	select id, id, 'other', id::text, '', '', 'system', id, '{}' from projection.phone_system;
	insert into access.key (id, lineage, name, short, hash, pepper_id, grant_kind, grant_id, scopes)
	values ('` + groupID + `', '` + groupID + `', 'group', 'short', '', '', 'group', '` + groupID + `', '{}')`

// rows matches how many rows a scan of a table has returned.
var rows = regexp.MustCompile(`Scan[^\n]* on (\w+) .*\(actual rows=(\d+)[^\n]*\)`)

// A key of a large group is authorized by probes of indexes, with and without statistics.
func TestSQL_GroupPlan(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	database.OnePartition(t)
	super := database.Pool(t)
	conn := connect(t, database)
	for _, statement := range []string{fillGroup, "vacuum analyze"} {
		if _, err := super.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		plan := explain(t, conn)
		if !strings.Contains(plan, "phone_system_group_member_pkey") || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Bitmap") {
			t.Errorf("plan = \n%s\nwant index scans, one of them by phone_system_group_member_pkey", plan)
		}
		found := rows.FindAllStringSubmatch(plan, -1)
		for _, scan := range found {
			if scan[2] != "1" && scan[2] != "0" {
				t.Errorf("rows read of %s = %s, want at most 1\n%s", scan[1], scan[2], plan)
			}
		}
		if len(found) < 3 {
			t.Errorf("executed scans = %d, want those of key, phone system and member\n%s", len(found), plan)
		}
	}
}

// connect opens a connection with the role and the settings of a reader.
func connect(t *testing.T, database *schematest.Database) *pgx.Conn {
	t.Helper()
	return database.Connect(t, "callboard_reader", connection.ReaderSettings(nil))
}

// explain runs the statement for the group's key, and returns its plan with the actual numbers of rows.
func explain(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	prepare := "deallocate all; prepare authorize (text, uuid, smallint) as " + access.AuthorizeSQL()
	if _, err := conn.Exec(t.Context(), prepare, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	const execute = "explain (analyze, timing off, summary off) execute authorize ('short', '" + systemID + "', 0)"
	result, err := conn.Query(t.Context(), execute, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(result, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// Where the tables are divided by partition, the statement scans one of the parts.
func TestSQL_TouchesOnePartition(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	database.PartitionByHash(t)
	database.OnePartition(t)
	if _, err := database.Pool(t).Exec(t.Context(), fillGroup); err != nil {
		t.Fatal(err)
	}
	plan := explain(t, connect(t, database))
	if got, scans := schematest.ScannedPartitions(plan); scans != 2 || got[0] != database.HashPartition(t, 0) || len(got) != 1 {
		t.Errorf("hash partitions scanned = %v, want %s, of phone system and extension\n%s", got, database.HashPartition(t, 0), plan)
	}
}
