package access_test

import (
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

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

// fillGroup adds a group of 100,000 phone systems of an organization, and their keys, whose short parts are "group"
// and "organization".
const fillGroup = `
	insert into projection.position (partition, stream, sequence, epoch, clock, watermark)
	select n, gen_random_uuid(), 1, 1, now(), now() from generate_series(0, 15) n;
	insert into projection.phone_system (id, version, name, partition, organization_id)
	select md5(n::text)::uuid, 1, 'system', n % 16, '` + organizationID + `'::uuid from generate_series(2, 100000) n
	union all
	select '` + systemID + `', 1, 'system', 0, '` + organizationID + `';
	insert into projection.phone_system_group (id, version, name, phone_system_ids)
	select '` + groupID + `', 1, 'all', array_agg(id) from projection.phone_system;
	insert into projection.phone_system_group_member (group_id, system_id)
	select '` + groupID + `', id from projection.phone_system;
	insert into access.key (id, lineage, name, short, hash, pepper_id, grant_kind, grant_id, scopes)
	select id, id, 'other', id::text, '', '', 'system', id, '{}' from projection.phone_system;
	insert into access.key (id, lineage, name, short, hash, pepper_id, grant_kind, grant_id, scopes)
	values ('` + groupID + `', '` + groupID + `', 'group', 'group', '', '', 'group', '` + groupID + `', '{}'),
	  ('` + organizationID + `', '` + organizationID + `', 'all', 'organization', '', '', 'organization', '` + organizationID + `', '{}')`

// How many rows a scan of a table has returned, and how many a filter has removed in each of its loops.
var (
	rows    = regexp.MustCompile(`Scan[^\n]* on "?(\w+)"? .*\(actual rows=(\d+)[^\n]*\)`)
	removed = regexp.MustCompile(`Rows Removed by Filter: (\d+)`)
)

// A key of a large group is authorized by probes of indexes, with and without statistics.
func TestSQL_GroupPlan(t *testing.T) {
	schematest.NeedOneServer(t, "its plans are one server's")
	t.Parallel()
	database := schematest.New(t)
	database.OnePartition(t)
	super := database.Pool(t)
	conn := connect(t, database)
	for _, statement := range []string{fillGroup, "vacuum analyze"} {
		schematest.Exec(t, super, statement)
		plan := explain(t, conn, "group", ofSystem)
		if !strings.Contains(plan, "phone_system_group_member_pkey") || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Bitmap") {
			t.Errorf("plan = \n%s\nwant index scans, one of them by phone_system_group_member_pkey", plan)
		}
		found := rows.FindAllStringSubmatch(plan, -1)
		for _, scan := range found {
			if scan[2] != "1" && scan[2] != "0" {
				t.Errorf("rows read of %s = %s, want at most 1\n%s", scan[1], scan[2], plan)
			}
		}
		if len(found) < 4 {
			t.Errorf("executed scans = %d, want those of key, phone system, member and position\n%s", len(found), plan)
		}
	}
}

// The age of an organization's coverage reads one position, and for the list of phone systems one phone system per
// partition at most.
func TestSQL_OrganizationPlan(t *testing.T) {
	schematest.NeedOneServer(t, "its plans are one server's")
	t.Parallel()
	database := schematest.New(t)
	database.OnePartition(t)
	super := database.Pool(t)
	conn := connect(t, database)
	for _, statement := range []string{fillGroup, "vacuum analyze"} {
		schematest.Exec(t, super, statement)
		for arguments, want := range map[string]map[string]string{
			ofSystem: {"position": "1", "phone_system": "1"},
			ofList:   {"position": "16", "phone_system": "1"},
		} {
			plan := explain(t, conn, "organization", arguments)
			if strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Bitmap") {
				t.Errorf("%s: plan = \n%s\nwant index scans", arguments, plan)
			}
			got := map[string]string{}
			for _, scan := range rows.FindAllStringSubmatch(plan, -1) {
				if _, wanted := want[scan[1]]; wanted && scan[2] != "0" {
					got[scan[1]] = scan[2]
				}
			}
			for _, filter := range removed.FindAllStringSubmatch(plan, -1) {
				if n, err := strconv.Atoi(filter[1]); err != nil || n > 16 {
					t.Errorf("%s: rows removed by a filter = %s, want those of 16 partitions at most\n%s", arguments, filter[1], plan)
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s: rows read by table = %v, want %v\n%s", arguments, got, want, plan)
			}
		}
	}
}

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

// unexecuted matches the scans of a plan that did not run.
var unexecuted = regexp.MustCompile(`(?m)^.*\(never executed\)$`)

// Where the tables are divided by partition, the statement scans one of the parts.
func TestSQL_TouchesOnePartition(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	database.DivideByPartition(t)
	database.OnePartition(t)
	schematest.Exec(t, database.Pool(t), fillGroup)
	for _, short := range []string{"group", "organization"} {
		plan := unexecuted.ReplaceAllString(explain(t, connect(t, database), short, ofSystem), "")
		if got := schematest.ScannedPartitions(plan); strings.Join(got, "") != "000" {
			t.Errorf("%s: partitions scanned = %v, want 0 of phone system, position and extension\n%s", short, got, plan)
		}
	}
}
