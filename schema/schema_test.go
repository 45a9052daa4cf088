package schema_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgerrcode"
	"golang.org/x/sync/errgroup"

	"callboard/schema"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m) }

func TestMigrate_TwiceAndByTwoAtOnce(t *testing.T) {
	d := schematest.NewEmpty(t)
	var both errgroup.Group
	for range 2 {
		both.Go(func() error {
			_, err := schema.Migrate(t.Context(), d.URL())
			return err
		})
	}
	if err := both.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := schema.Migrate(t.Context(), d.URL()); err != nil {
		t.Errorf("second migration: %v", err)
	}
}

// A database that can't hold every text is refused before anything is written. The advice works.
func TestMigrate_RefusesOtherEncodings(t *testing.T) {
	t.Parallel()
	d := schematest.NewEmpty(t)
	pool := d.Pool(t)
	name := pool.Config().ConnConfig.Database + "_latin1"
	schematest.Exec(t, pool, "create database "+name+" template template0 encoding 'LATIN1' locale 'C'")
	t.Cleanup(func() { schematest.Exec(t, pool, "drop database "+name+" with (force)") })
	url := strings.Replace(d.URL(), pool.Config().ConnConfig.Database, name, 1)
	_, err := schema.Migrate(t.Context(), url)
	if err == nil || !strings.Contains(err.Error(), "encoding is LATIN1") {
		t.Fatalf("error = %v, want the encoding", err)
	}
	_, advice, _ := strings.Cut(err.Error(), `with "`)
	schematest.Exec(t, pool, "drop database "+name)
	schematest.Exec(t, pool, strings.Replace(strings.TrimSuffix(advice, `"`), "NAME", name, 1))
	if _, err := schema.Migrate(t.Context(), url); err != nil {
		t.Errorf("in the database that the error recommends: %v", err)
	}
}

func TestCheckMigrated_AsEveryRoleThatAsks(t *testing.T) {
	d := schematest.NewEmpty(t)
	pool := d.Pool(t)
	if err := schema.CheckMigrated(t.Context(), pool); !errors.Is(err, schema.ErrNotMigrated) {
		t.Errorf("empty database: error = %v, want ErrNotMigrated", err)
	}
	if _, err := schema.Migrate(t.Context(), d.URL()); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"callboard_projector", "callboard_operator"} {
		if err := schema.CheckMigrated(t.Context(), d.Connect(t, role, nil)); err != nil {
			t.Errorf("%s: %v", role, err)
		}
	}
	for _, c := range []struct {
		change string
		want   error
	}{
		{"insert into control.migration (version_id, is_applied) values (99999, true)", nil}, // of a later release
		{"delete from control.migration where version_id = 99999", nil},
		{"delete from control.migration where version_id = (select max(version_id) from control.migration)", schema.ErrNotMigrated},
	} {
		schematest.Exec(t, pool, c.change)
		if err := schema.CheckMigrated(t.Context(), pool); !errors.Is(err, c.want) {
			t.Errorf("after %q: error = %v, want %v", c.change, err, c.want)
		}
	}
}

func TestMigrate_RefusesTheProjectionOfAnotherRelease(t *testing.T) {
	d := schematest.New(t)
	pool := d.Pool(t)
	schematest.Exec(t, pool, "update control.generation set definition = 'other'; insert into projection.row_count values (0, gen_random_uuid(), 'x', '', now(), 1)")
	if _, err := schema.Migrate(t.Context(), d.URL()); !errors.Is(err, schema.ErrProjectionChanged) {
		t.Fatalf("error = %v, want ErrProjectionChanged", err)
	}
	if err := schema.RecreateProjection(t.Context(), d.URL()); err != nil {
		t.Fatal(err)
	}
	if _, err := schema.Migrate(t.Context(), d.URL()); err != nil {
		t.Errorf("after RecreateProjection: %v", err)
	}
	if n := schematest.QueryOne[int](t, pool, "select count(*) from projection.row_count"); n != 0 {
		t.Errorf("rows in the new projection = %d, want 0", n)
	}
}

// migrated returns a database on which the migrations ran. A copy of a template has the tables and grants, but neither
// the rights of the database itself nor the settings of roles in it.
func migrated(t *testing.T) *schematest.Database {
	t.Helper()
	d := schematest.NewEmpty(t)
	if _, err := schema.Migrate(t.Context(), d.URL()); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRoles_Rights(t *testing.T) {
	d := migrated(t)
	key := `insert into access.key (id, lineage, name, short, hash, pepper_id, grant_kind, grant_id, scopes)
		values (gen_random_uuid(), gen_random_uuid(), 'k', 's', 'h', 'p', 'system', gen_random_uuid(), '{}')`
	withdraw := "select access.withdraw(gen_random_uuid(), now(), null)"
	tests := []struct {
		role, statement string
		allowed         bool
	}{
		{"callboard_reader", "select count(*) from projection.call_log", true},
		{"callboard_reader", "select count(*) from access.key", true},
		{"callboard_reader", "select count(*) from control.dead_letter", false},
		{"callboard_reader", "copy (select 1) to program 'true'", false},
		{"callboard_reader", "set role callboard_operator", false},
		{"callboard_reader", "select count(*) from access.audit", false},
		{"callboard_reader", "select count(*) from access.key_use", false},
		{"callboard_projector", "delete from projection.call_log", true},
		{"callboard_projector", "select count(*) from control.clock_adjustment", true},
		{"callboard_projector", "delete from control.clock_adjustment", false},
		{"callboard_projector", "update control.clock_adjustment set clock = now()", true},
		{"callboard_projector", "update control.clock_adjustment set capped = true", false},
		{"callboard_operator", "select count(*) from control.clock_adjustment", true},
		{"callboard_operator", "select control.skip(gen_random_uuid(), 0::smallint, 0, 1, 's', '', '', now())", true},
		{"callboard_projector", "select control.skip(gen_random_uuid(), 0::smallint, 0, 1, 's', '', '', now())", false},
		{"callboard_reader", "select control.skip(gen_random_uuid(), 0::smallint, 0, 1, 's', '', '', now())", false},
		{"callboard_operator", "insert into control.dead_letter (sequence) values (1)", false},
		{"callboard_operator", "update control.clock_adjustment set clock = now()", false},
		{"callboard_projector", "select count(*) from control.correction", true},
		{"callboard_projector", "insert into control.correction (stream) values (gen_random_uuid())", false},
		{"callboard_projector", "delete from control.dead_letter", false},
		{"callboard_projector", "update control.audit_position set sequence = 0", true},
		{"callboard_projector", "delete from control.audit_position", false},
		{"callboard_operator", "select count(*) from control.audit_position", true},
		{"callboard_operator", "update control.audit_position set sequence = 0", false},
		{"callboard_operator", "update control.dead_letter set failures = '[]'", false},
		{"callboard_projector", "select count(*) from access.key", false},
		{"callboard_projector", "select access.open_audit_day('2026-03-02')", true},
		{"callboard_projector", "select count(*) from access.audit", false},
		{"callboard_projector", "delete from access.audit", false},
		{"callboard_projector", "drop table access.audit", false},
		{"callboard_projector", "update access.key_use set at = now()", true},
		{"callboard_operator", "select count(*) from access.audit", true},
		{"callboard_operator", "delete from access.audit", false},
		{"callboard_operator", "update access.key_use set at = now()", false},
		{"callboard_projector", "drop table projection.call_log", false},
		{"callboard_operator", key, true},
		{"callboard_operator", "update access.key set revoked_at = now()", true},
		{"callboard_operator", "delete from access.key", false},
		{"callboard_operator", "select count(*) from projection.position", true},
		{"callboard_operator", "delete from projection.call_log", false},
		{"callboard_operator", "select count(*) from control.generation", true},
		{"callboard_projector", withdraw, true},
		{"callboard_operator", withdraw, true},
		{"callboard_reader", withdraw, false},
		{"callboard_webhooks", withdraw, false},
		{"callboard_webhooks", "select control.commit_durably()", false},
	}
	for _, test := range tests {
		requireRight(t, d, test.role, test.statement, test.allowed)
	}
}

// requireRight executes a statement as a role.
func requireRight(t *testing.T, d *schematest.Database, role, statement string, allowed bool) {
	t.Helper()
	_, err := d.Connect(t, role, nil).Exec(t.Context(), statement)
	if allowed != (err == nil) || !allowed && !schema.HasCode(err, pgerrcode.InsufficientPrivilege) {
		t.Errorf("%s: %s: error = %v, want allowed = %v", role, statement, err, allowed)
	}
}

// The test reads the catalog, so it covers every table, sequence, function and schema, also those of later migrations.
func TestRoles_ReaderCanOnlySelect(t *testing.T) {
	d := migrated(t)
	const excess = `
		select format('%s on %s', privilege, c.oid::regclass)
		from pg_class c, unnest(array['insert', 'update', 'delete', 'truncate', 'references', 'trigger']) privilege
		where relkind in ('r', 'p', 'v', 'm', 'f')
		  and c.oid <> 'pg_settings'::regclass -- updating it is SET
		  and has_table_privilege('callboard_reader', c.oid, privilege)
		union all
		select format('%s on %s', privilege, c.oid::regclass)
		from pg_class c, unnest(array['usage', 'update']) privilege
		where relkind = 'S'
		  and has_sequence_privilege('callboard_reader', c.oid, privilege)
		union all
		select format('create in %s', nspname)
		from pg_namespace
		where has_schema_privilege('callboard_reader', oid, 'create')
		union all
		select format('execute %s', p.oid::regprocedure)
		from pg_proc p
		join pg_namespace n on n.oid = pronamespace
		where nspname in ('access', 'control', 'projection', 'public')
		  and has_function_privilege('callboard_reader', p.oid, 'execute')
		union all
		select format('%s on the database', privilege)
		from unnest(array['create', 'temporary']) privilege
		where has_database_privilege('callboard_reader', current_database(), privilege)
		union all
		select 'a member of ' || roleid::regrole
		from pg_auth_members
		where member = 'callboard_reader'::regrole`
	if rights := queryOn[string](t, connectTo(t, d), excess); len(rights) > 0 {
		t.Errorf("excess rights of the reader = %v, want none", rights)
	}
}

// Days are compared as dates, not by partition name: a BC date and an AD date can have the same name. Partitions that
// an operator attached or detached stay.
func TestAudit_DropsOldDays(t *testing.T) {
	pool := schematest.New(t).Pool(t)
	for _, statement := range []string{
		"select access.open_audit_day(date '2026-03-01' + i) from generate_series(0, 3) i",
		"alter table access.audit detach partition access.audit_20260301",
		"create table access.archive partition of access.audit for values from ('2025-01-01Z') to ('2026-01-01Z')",
		"create table access.audit_archive partition of access.audit for values from (minvalue) to ('2025-01-01Z')",
	} {
		schematest.Exec(t, pool, statement)
	}
	const left = "select string_agg(relname, ' ' order by relname) from pg_class where relnamespace = 'access'::regnamespace and relkind = 'r' and relname like 'a%'"
	for _, test := range []struct {
		before string
		drops  int
		left   string
	}{
		{"3450-01-01 BC", 0, "archive audit_20260301 audit_20260302 audit_20260303 audit_20260304 audit_archive"},
		{"-infinity", 0, "archive audit_20260301 audit_20260302 audit_20260303 audit_20260304 audit_archive"},
		{"2026-03-02", 0, "archive audit_20260301 audit_20260302 audit_20260303 audit_20260304 audit_archive"},
		{"2026-03-03", 1, "archive audit_20260301 audit_20260303 audit_20260304 audit_archive"},
		{"12026-01-01", 2, "archive audit_20260301 audit_archive"},
	} {
		dropped := schematest.QueryOne[int](t, pool, "select access.drop_audit_before($1::text::date)", test.before)
		names := schematest.QueryOne[string](t, pool, left)
		if dropped != test.drops || names != test.left {
			t.Errorf("before %s: dropped = %d, want %d; left = %s, want %s", test.before, dropped, test.drops, names, test.left)
		}
	}
}

// Opening a day twice changes nothing.
func TestAudit_OpensDays(t *testing.T) {
	pool := schematest.New(t).Pool(t)
	for _, step := range []struct {
		statement, day string
		open           bool
	}{
		{"select", "2026-03-01", true},
		{"set timezone = 'Pacific/Auckland'; set datestyle = 'German'", "2026-03-01", true},
		{"alter table access.audit detach partition access.audit_20260301", "2026-03-01", false},
		{"alter table access.audit_20260301 rename to archive", "2026-03-01", true},
		{"create table access.month partition of access.audit for values from ('2026-04-01Z') to ('2026-05-01Z')", "2026-04-30", true},
		{"create table access.half partition of access.audit for values from ('2026-05-01Z') to ('2026-05-01 12:00Z')", "2026-05-01", false},
	} {
		schematest.Exec(t, pool, step.statement)
		for range 2 {
			open := schematest.QueryOne[bool](t, pool, "select access.open_audit_day($1::text::date)", step.day)
			if open != step.open {
				t.Errorf("after %q: open(%s) = %v, want %v", step.statement, step.day, open, step.open)
			}
		}
	}
}

// Migrate returns the statements that a superuser must run when its own user may not.
func TestMigrate_ReturnsSuperuserSteps(t *testing.T) {
	d := schematest.NewEmpty(t)
	pool := d.Pool(t)
	exec := func(statement string) {
		t.Helper()
		schematest.Exec(t, pool, statement)
	}
	exec("do $$ begin execute format('alter database %I owner to callboard_operator', current_database()); end $$")
	exec("alter role callboard_operator createrole")
	t.Cleanup(func() { exec("alter role callboard_operator nocreaterole") }) // the role belongs to the server, so other tests use it too
	steps := func() []string {
		t.Helper()
		list, err := schema.Migrate(t.Context(), d.RoleURL("callboard_operator"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	left := steps()
	const statement = "revoke execute on function lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea) from public"
	returned := slices.ContainsFunc(left, func(step string) bool { return strings.HasSuffix(step, ": "+statement) })
	if !returned || strings.Contains(strings.Join(left, " "), "temporary") {
		t.Fatalf("steps as the owner of the database = %q, want %q and none about temporary tables", left, statement)
	}
	for _, step := range left {
		_, statement, _ := strings.Cut(step, ": ")
		exec(statement)
	}
	if left := steps(); len(left) > 0 {
		t.Errorf("steps after they were run = %q, want none", left)
	}
}

// The server ends a long statement, also when the reader that sent it is gone.
func TestRoles_ReaderHasAStatementTimeout(t *testing.T) {
	conn := migrated(t).Connect(t, "callboard_reader", nil)
	if timeout := schematest.QueryOne[string](t, conn, "show statement_timeout"); timeout != "10s" {
		t.Errorf("statement_timeout = %s, want 10s", timeout)
	}
	_, err := conn.Exec(t.Context(), "set statement_timeout = '20ms'; select pg_sleep(60)")
	if !schema.HasCode(err, pgerrcode.QueryCanceled) {
		t.Errorf("error = %v, want query_canceled", err)
	}
}
