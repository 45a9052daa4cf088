package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

	"callboard/schema"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m) }

func TestMigrate_TwiceAndByTwoAtOnce(t *testing.T) {
	d := schematest.NewEmpty(t)
	var both errgroup.Group
	for range 2 {
		both.Go(func() error { return schema.Migrate(t.Context(), d.URL()) })
	}
	if err := both.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := schema.Migrate(t.Context(), d.URL()); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestMigrate_NoticesAnotherReleasesProjection(t *testing.T) {
	d := schematest.New(t)
	pool := d.Pool(t)
	if _, err := pool.Exec(t.Context(), "insert into control.generation (ddl) values ('other'); insert into projection.day_count values (gen_random_uuid(), 'x', '', now(), 1)"); err != nil {
		t.Fatal(err)
	}
	if err := schema.Migrate(t.Context(), d.URL()); !errors.Is(err, schema.ErrProjectionChanged) {
		t.Fatalf("%v, want ErrProjectionChanged", err)
	}
	if err := schema.RenewProjection(t.Context(), d.URL()); err != nil {
		t.Fatal(err)
	}
	if err := schema.Migrate(t.Context(), d.URL()); err != nil {
		t.Errorf("after the renewal: %v", err)
	}
	var n int
	if err := pool.QueryRow(t.Context(), "select count(*) from projection.day_count").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows in the new projection, %v", n, err)
	}
}

// migrated is a database that was migrated itself. One that is copied from it has its tables and grants, and neither its own
// rights nor its roles' settings.
func migrated(t *testing.T) *schematest.Database {
	t.Helper()
	d := schematest.NewEmpty(t)
	if err := schema.Migrate(t.Context(), d.URL()); err != nil {
		t.Fatal(err)
	}
	return d
}

// What each role may do, and what it may not.
func TestRoles(t *testing.T) {
	d := migrated(t)
	key := `insert into access.key (id, lineage, name, short, hash, pepper_id, grant_kind, grant_id, scopes)
		values (gen_random_uuid(), gen_random_uuid(), 'k', 's', 'h', 'p', 'system', gen_random_uuid(), '{}')`
	tests := []struct {
		role, statement string
		allowed         bool
	}{
		{"callboard_reader", "select count(*) from projection.call_log", true},
		{"callboard_reader", "select count(*) from access.key", true},
		{"callboard_reader", "delete from projection.call_log", false},
		{"callboard_reader", "update projection.position set watermark = now()", false},
		{"callboard_reader", "truncate projection.call_log", false},
		{"callboard_reader", key, false},
		{"callboard_reader", "select count(*) from control.dead_letter", false},
		{"callboard_reader", "create table projection.mine ()", false},
		{"callboard_reader", "create table public.mine ()", false},
		{"callboard_reader", "create temp table mine ()", false},
		{"callboard_reader", "select lo_create(0)", false},
		{"callboard_reader", "create schema mine", false},
		{"callboard_reader", "select access.open_audit_day('2026-03-02')", false},
		{"callboard_reader", "copy (select 1) to program 'true'", false},
		{"callboard_reader", "set role callboard_operator", false},
		{"callboard_reader", "select count(*) from access.audit", false},
		{"callboard_reader", "select count(*) from access.key_use", false},
		{"callboard_projector", "delete from projection.call_log", true},
		{"callboard_projector", "select count(*) from control.clock_lift", true},
		{"callboard_projector", "delete from control.clock_lift", false},
		{"callboard_projector", "delete from control.dead_letter", false},
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
	}
	for _, test := range tests {
		t.Run(test.role+"/"+test.statement, func(t *testing.T) {
			conn, err := pgx.Connect(t.Context(), d.RoleURL(test.role))
			if err != nil {
				t.Fatal(err)
			}
			_, err = conn.Exec(t.Context(), test.statement)
			if test.allowed != (err == nil) {
				t.Errorf("allowed %v: %v", test.allowed, err)
			}
			var refusal *pgconn.PgError
			if !test.allowed && (!errors.As(err, &refusal) || !strings.HasPrefix(refusal.Code, "42501")) {
				t.Errorf("refused with %v, want insufficient privilege", err)
			}
			if err := conn.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// The reader may select and nothing else, on every table, sequence and function there is, in every schema: what comes with a later
// migration is held to it too.
func TestRoles_ReaderWritesNothing(t *testing.T) {
	d := migrated(t)
	conn, err := pgx.Connect(t.Context(), d.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
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
	rows, err := conn.Query(t.Context(), excess)
	if err != nil {
		t.Fatal(err)
	}
	rights, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(rights) > 0 {
		t.Errorf("the reader may %v, %v", rights, err)
	}
}

// A statement that goes on is ended by the server, whatever became of the reader that sent it.
func TestRoles_ReaderIsTimed(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), migrated(t).RoleURL("callboard_reader"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var timeout string
	if err := conn.QueryRow(t.Context(), "show statement_timeout").Scan(&timeout); err != nil || timeout != "10s" {
		t.Errorf("timeout %s, %v", timeout, err)
	}
	var canceled *pgconn.PgError
	if _, err := conn.Exec(t.Context(), "set statement_timeout = '20ms'; select pg_sleep(60)"); !errors.As(err, &canceled) || canceled.Code != "57014" {
		t.Errorf("%v, want query_canceled", err)
	}
}
