package schema_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"callboard/schema"
	"callboard/schema/schematest"
)

func connectTo(t *testing.T, database *schematest.Database) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func executeOn(t *testing.T, conn *pgx.Conn, statements string) {
	t.Helper()
	schematest.Exec(t, conn, statements)
}

func queryOn[T any](t *testing.T, conn *pgx.Conn, text string) []T {
	t.Helper()
	rows, _ := conn.Query(t.Context(), text)
	list, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Every table of the schemas is in a schema, or is left out on purpose. A new migration's table must be one or the
// other.
func TestTables_AreAll(t *testing.T) {
	t.Parallel()
	got := queryOn[string](t, connectTo(t, schematest.New(t)), `
		select format('%s.%s', relnamespace::regnamespace, relname)
		from pg_class
		where relnamespace in ('access'::regnamespace, 'control'::regnamespace, 'webhook'::regnamespace) and relkind in ('r', 'p') and not relispartition
		order by 1`)
	want := append(schema.DumpTables(), "control.migration", "webhook.test")
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("tables = %v, want %v: add a new one to Tables, or to this test", got, want)
	}
}

// copyDump copies a schema of one database into another, as the command does.
func copyDump(t *testing.T, from, to *pgx.Conn) *schema.Load {
	t.Helper()
	snapshot, err := schema.NewSnapshot(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close(t.Context())
	load, err := schema.NewLoad(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { load.Close(context.Background()) })
	days, err := snapshot.AuditDays(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := load.OpenAuditDays(t.Context(), days); err != nil {
		t.Fatal(err)
	}
	for _, table := range schema.DumpTables() {
		columns, err := snapshot.Columns(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if _, err := snapshot.CopyTo(t.Context(), table, columns, &text); err != nil {
			t.Fatal(err)
		}
		if _, err := load.CopyFrom(t.Context(), table, columns, &text); err != nil {
			t.Fatal(err)
		}
	}
	return load
}

// history is a database after rebuilds, a rollback to generation 3, and a generation that was being built.
const history = `
	insert into access.key (id, lineage, name, short, hash, pepper_id, grant_kind, grant_id, scopes, allowed_networks)
	values (gen_random_uuid(), gen_random_uuid(), E'tab\tand \\ and é', 'short', '\x00ff', 'p', 'system', gen_random_uuid(), '{calls:read,"a,b"}', '{10.0.0.0/8}');
	insert into access.key_use values (gen_random_uuid(), now(), '192.0.2.1');
	select access.open_audit_day('2026-03-02');
	insert into access.audit values ('2026-03-02 23:59:59.999999+00', gen_random_uuid(), gen_random_uuid(), 'x', null, 200, null, '::1', 'r');
	update control.generation set state = 'dropped', switched_at = now();
	insert into control.generation (definition, state, switched_at)
	values ('\x01', 'dropped', now()), ('\x02', 'live', now()), ('\x03', 'previous', now()), ('\x04', 'building', null);
	insert into control.stream values ('00000000-0000-4000-8000-00000000000a', 16), ('00000000-0000-4000-8000-00000000000b', 2);
	insert into control.clock_adjustment values
	  ('00000000-0000-4000-8000-00000000000a', 1, false, 7, 7, null, now(), 0),
	  ('00000000-0000-4000-8000-00000000000a', 1, true, 7, 8, now() + interval '1 day', now(), 2);
	insert into control.correction (stream, partition, system_id, clock) values ('00000000-0000-4000-8000-00000000000a', 1, gen_random_uuid(), now());
	insert into control.dead_letter (stream, sequence, partition, subject, header, data, reason, stored_at, generation, failures)
	select '00000000-0000-4000-8000-00000000000a', g, 1, 's', '\x', '\x00', E'line\nbreak', now(), g, '[{"sequence": 9, "reason": "line\nbreak"}]'
	from generate_series(2, 5) g;
	insert into control.audit_position (sequence, stored_at) values (9, now());
	insert into webhook.endpoint (id, name, url, kinds, grant_kind, grant_id, state, stream, from_sequence, secrets)
	values ('7d0d0000-0000-4000-8000-00000000000f', 'n', 'https://example.com', '{call.ended}', 'system', gen_random_uuid(), 'active', '00000000-0000-4000-8000-00000000000a', 4, '[{"id": "s"}]');
	insert into webhook.notice values ('00000000-0000-4000-8000-00000000000a', 1, 7, 0, 'evt_a', 'call.ended', gen_random_uuid(), 'CA1', null, null, null, now(), null);
	insert into webhook.floor values ('00000000-0000-4000-8000-00000000000a', 1, 7);
	insert into webhook.delivery (id, endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, at, attempts)
	select 11, id, '00000000-0000-4000-8000-00000000000a', 7, 'evt_a', 'call.ended', gen_random_uuid(), 'CA1', now(), '[{"ms": 7}]' from webhook.endpoint`

func TestLoad(t *testing.T) {
	t.Parallel()
	from, to := connectTo(t, schematest.New(t)), connectTo(t, schematest.New(t))
	executeOn(t, from, history)
	load := copyDump(t, from, to)
	if err := load.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{
		"access.key", "access.key_use", "access.audit", "control.stream", "control.clock_adjustment", "control.correction",
		"control.audit_position", "webhook.endpoint", "webhook.notice", "webhook.floor", "webhook.delivery",
	} {
		rows := "select r::text from " + table + " r order by 1"
		if got, want := queryOn[string](t, to, rows), queryOn[string](t, from, rows); !slices.Equal(got, want) {
			t.Errorf("rows of %s = %q, want %q", table, got, want)
		}
	}
	for what, c := range map[string]struct {
		query string
		want  []string
	}{
		"generations":                  {"select id || ' ' || state from control.generation order by id", []string{"1 dropped", "2 dropped", "3 dropped", "4 dropped", "5 dropped", "6 live"}},
		"the projection's generation":  {"select id::text from projection.generation", []string{"6"}},
		"dead letters of the live one": {"select sequence || ' ' || failures from control.dead_letter order by 1", []string{`2 [{"reason": "line\nbreak", "sequence": 9}]`, `3 [{"reason": "line\nbreak", "sequence": 9}]`}},
		"the next dead letter":         {"select (nextval(pg_get_serial_sequence('control.dead_letter', 'id')) > max(id))::text from control.dead_letter", []string{"true"}},
		"the next delivery":            {"select nextval(pg_get_serial_sequence('webhook.delivery', 'id'))::text", []string{"12"}},
	} {
		if got := queryOn[string](t, to, c.query); !slices.Equal(got, c.want) {
			t.Errorf("%s = %q, want %q", what, got, c.want)
		}
	}
}

// A load that is not committed leaves the database as it was, and a second load can follow.
func TestLoad_Interrupted(t *testing.T) {
	t.Parallel()
	from, to := connectTo(t, schematest.New(t)), connectTo(t, schematest.New(t))
	executeOn(t, from, history)
	copyDump(t, from, to).Close(t.Context())
	if err := copyDump(t, from, to).Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := schema.NewLoad(t.Context(), to); !errors.Is(err, schema.ErrNotEmpty) {
		t.Errorf("a third load: error = %v, want %v", err, schema.ErrNotEmpty)
	}
}

func TestNewSnapshot_OtherSchemaVersion(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"delete from control.migration where version_id >= 3":                      schema.ErrNotMigrated.Error(),
		"insert into control.migration (version_id, is_applied) values (99, true)": "the database has schema version 99",
		"drop schema control cascade":                                              schema.ErrNotMigrated.Error(),
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			conn := connectTo(t, schematest.New(t))
			executeOn(t, conn, change)
			var version *schema.VersionError
			_, err := schema.NewSnapshot(t.Context(), conn)
			if !errors.As(err, &version) || !strings.Contains(err.Error(), want) {
				t.Errorf("snapshot: error = %v, want %s", err, want)
			}
			if _, err = schema.NewLoad(t.Context(), conn); !errors.As(err, &version) {
				t.Errorf("load: error = %v, want %s", err, want)
			}
		})
	}
}
