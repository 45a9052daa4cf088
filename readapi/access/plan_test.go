package access_test

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/internal/run/connection"
	"callboard/readapi/access"
	"callboard/schema/schematest"
)

const (
	systemID = "b0000000-0000-4000-8000-000000000001"
	groupID  = "a0000000-0000-4000-8000-000000000001"

	organizationID = "c0000000-0000-4000-8000-000000000001"
)

// The arguments of the statement: a phone system of the group, and the list of phone systems.
const (
	ofSystem = "'" + systemID + "', 0, 0"
	ofList   = "0"
)

// fillGroup adds a group of phone systems of an organization, and their keys, whose short parts are "group" and
// "organization".
func fillGroup(tb testing.TB, pool *pgxpool.Pool, systems int) {
	tb.Helper()
	schematest.Exec(tb, pool, fmt.Sprintf(`
		insert into projection.position (partition, stream, sequence, epoch, clock, watermark)
		select n, gen_random_uuid(), 1, 1, now(), now() from generate_series(0, 15) n;
		insert into projection.phone_system (id, version, name, partition, organization_id)
		select md5(n::text)::uuid, 1, 'system', n %% 16, '%[3]s'::uuid from generate_series(2, %[4]d) n
		union all
		select '%[1]s', 1, 'system', 0, '%[3]s';
		insert into projection.phone_system_group (id, version, name, phone_system_ids)
		select '%[2]s', 1, 'all', array_agg(id) from projection.phone_system;
		insert into projection.phone_system_group_member (group_id, system_id)
		select '%[2]s', id from projection.phone_system;
		insert into access.key (id, lineage, name, short, hash, pepper_id, grant_kind, grant_id, scopes)
		select id, id, 'other', id::text, ''::bytea, '', 'system', id, '{}'::text[] from projection.phone_system
		union all
		values ('%[2]s'::uuid, '%[2]s'::uuid, 'group', 'group', ''::bytea, '', 'group', '%[2]s'::uuid, '{}'::text[]),
		  ('%[3]s', '%[3]s', 'all', 'organization', '', '', 'organization', '%[3]s', '{}')`,
		systemID, groupID, organizationID, systems))
}

// How many rows a scan of a table has returned, and how many a filter has removed in each of its loops.
var (
	rows    = regexp.MustCompile(`Scan[^\n]* on "?(\w+)"? .*\(actual rows=(\d+)[^\n]*\)`)
	removed = regexp.MustCompile(`Rows Removed by Filter: (\d+)`)
)

// A key of a large grant is authorized by index scans that return a row each, with and without statistics. Its age reads
// one position, and for the list of phone systems one phone system per partition at most.
func TestSQL_Plans(t *testing.T) {
	schematest.NeedOneServer(t, "its plans are one server's")
	t.Parallel()
	database := schematest.New(t)
	database.OnePartition(t)
	conn := connect(t, database)
	fillGroup(t, database.Pool(t), 5_000)
	for _, state := range []string{"select 'no statistics'", "vacuum analyze"} {
		schematest.Exec(t, database.Pool(t), state)
		for _, c := range []struct {
			short, arguments string
			want             map[string]string // rows that are read, by table
		}{
			{"group", ofSystem, map[string]string{"key": "1", "phone_system": "1", "phone_system_group_member": "1", "position": "1"}},
			{"organization", ofSystem, map[string]string{"key": "1", "phone_system": "1", "position": "1"}},
			{"organization", ofList, map[string]string{"key": "1", "phone_system": "1", "position": "16"}},
		} {
			plan := explain(t, conn, c.short, c.arguments)
			if strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Bitmap") {
				t.Errorf("%s, %s: %s: plan = \n%s\nwant index scans", state, c.short, c.arguments, plan)
			}
			got := map[string]string{}
			for _, scan := range rows.FindAllStringSubmatch(plan, -1) {
				if scan[2] != "0" && scan[1] != "generation" { // a row
					got[scan[1]] = scan[2]
				}
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("%s, %s: %s: rows read by table = %v, want %v\n%s", state, c.short, c.arguments, got, c.want, plan)
			}
			for _, filter := range removed.FindAllStringSubmatch(plan, -1) {
				if n, err := strconv.Atoi(filter[1]); err != nil || n > 16 {
					t.Errorf("%s, %s: %s: rows removed by a filter = %s, want 16 at most\n%s", state, c.short, c.arguments, filter[1], plan)
				}
			}
		}
	}
}

// Where the tables are divided by partition, the statement scans one of the parts.
func TestSQL_TouchesOnePartition(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	database.DivideByPartition(t)
	database.OnePartition(t)
	fillGroup(t, database.Pool(t), 100)
	for _, short := range []string{"group", "organization"} {
		plan := unexecuted.ReplaceAllString(explain(t, connect(t, database), short, ofSystem), "")
		if got := schematest.ScannedPartitions(plan); strings.Join(got, "") != "000" {
			t.Errorf("%s: partitions scanned = %v, want 0 of phone system, position and extension\n%s", short, got, plan)
		}
	}
}

// unexecuted matches the scans of a plan that did not run.
var unexecuted = regexp.MustCompile(`(?m)^.*\(never executed\)$`)

// connect opens a connection with the role and the settings of a reader.
func connect(t *testing.T, database *schematest.Database) *pgx.Conn {
	t.Helper()
	return database.Connect(t, "callboard_reader", connection.ReaderSettings())
}

// explain runs the statement for a key by its short part, and returns its plan with the actual numbers of rows.
func explain(t *testing.T, conn *pgx.Conn, short, arguments string) string {
	t.Helper()
	types, statement := "(text, uuid, smallint, smallint)", access.AuthorizeSQL()
	if arguments == ofList {
		types, statement = "(text, smallint)", access.AuthorizeListSQL()
	}
	prepare := "deallocate all; prepare authorize " + types + " as " + statement
	if _, err := conn.Exec(t.Context(), prepare, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	execute := "explain (analyze, timing off, summary off) execute authorize ('" + short + "', " + arguments + ")"
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
