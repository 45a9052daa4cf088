package schema_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"callboard/schema"
	"callboard/schema/schematest"
)

// Migration 7 renames tables and columns that hold decisions of earlier releases. It must keep them, in both directions.
func TestMigration7_KeepsDecisions(t *testing.T) {
	pool := schematest.New(t).Pool(t)
	exec := func(statement string) {
		t.Helper()
		schematest.Exec(t, pool, statement)
	}
	db := stdlib.OpenDBFromPool(pool)
	migrations, err := schema.ControlMigrations(db)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrations.DownTo(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	exec(`insert into control.clock_lift values ('PHONES', 'epoch', 3, 17, '2026-03-01Z')`)
	exec(`insert into control.dead_letter
		(stream, stream_created, sequence, partition, subject, header, data, reason, stored_at, retry_at, resolution, position, clock, turn)
		values ('PHONES', 'epoch', 18, 3, 's', '', '', 'r', 'epoch', null, 'applied', 20, '2026-03-02Z', nextval('control.dead_letter_turn')),
		       ('PHONES', 'epoch', 19, 3, 's', '', '', 'r', 'epoch', now(), null, null, null, null),
		       ('PHONES', 'epoch', 20, 3, 's', '', '', 'r', 'epoch', null, null, null, null, null)`)
	exec(`insert into control.generation (definition, state, switched_at) values ('x', 'kept', now())`)
	const renamed = `
		select
		  (select count(*) from control.clock_adjustment where sequence = 17 and clock = '2026-03-01Z') = 1
		  and (select array_agg(state order by sequence) from control.dead_letter) = '{applied,waiting,open}'
		  and (select count(*) from control.dead_letter where retry_position = 20 and retry_clock = '2026-03-02Z' and retry_seq = 1) = 1
		  and (select count(*) from control.generation where state = 'previous') = 1
		  and nextval('control.dead_letter_retry_seq') = 2`
	const original = `
		select
		  (select count(*) from control.clock_lift where sequence = 17 and time = '2026-03-01Z') = 1
		  and (select count(*) from control.dead_letter where position = 20 and clock = '2026-03-02Z' and turn = 1) = 1
		  and (select count(*) from control.generation where state = 'kept') = 1`
	expectTrue := func(step, query string) {
		t.Helper()
		var kept bool
		if err := pool.QueryRow(t.Context(), query).Scan(&kept); err != nil || !kept {
			t.Errorf("after %s: decisions kept = %v, %v, want true", step, kept, err)
		}
	}
	if _, err := migrations.UpTo(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	expectTrue("up", renamed)
	if _, err := migrations.DownTo(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	expectTrue("down", original)
}

// Migration 10 keeps what the previous release knows about retries, in both directions, and lets it write more.
func TestMigration10_KeepsRetries(t *testing.T) {
	pool := schematest.New(t).Pool(t)
	exec := func(statement string) {
		t.Helper()
		schematest.Exec(t, pool, statement)
	}
	migrations, err := schema.ControlMigrations(stdlib.OpenDBFromPool(pool))
	if err != nil {
		t.Fatal(err)
	}
	expectStates := func(step, want string) {
		t.Helper()
		var got string
		err := pool.QueryRow(t.Context(),
			"select string_agg(concat_ws(' ', sequence, state, retry_position, retry_seq), ', ' order by sequence) from control.dead_letter").Scan(&got)
		if err != nil || got != want {
			t.Errorf("after %s: dead letters = %s, %v, want %s", step, got, err, want)
		}
	}
	if _, err := migrations.DownTo(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	const insert = `insert into control.dead_letter
		(stream, stream_created, sequence, partition, subject, header, data, reason, stored_at,
		 retry_requested_at, resolution, retry_position, retry_clock, retry_seq)
		values ('PHONES', 'epoch', %d, 3, 's', '', '', 'r', 'epoch', %s)`
	exec(fmt.Sprintf(insert, 1, "null, 'applied', 20, '2026-03-02Z', 7"))
	exec(fmt.Sprintf(insert, 2, "now(), null, null, null, null"))
	exec(fmt.Sprintf(insert, 3, "null, null, null, null, null"))
	exec("insert into control.generation_part (generation, partition, part, sequence, retry_seq) select id, 0, 0, 9, 7 from control.generation")
	if _, err := migrations.UpTo(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	expectStates("up", "1 applied 20 7, 2 waiting, 3 open")
	exec(fmt.Sprintf(insert, 4, "now(), null, null, null, null")) // by the previous release
	exec("update control.dead_letter set retried_at = now(), retry_sequence = 30 where sequence = 3")
	exec("insert into control.failed_retry values ('PHONES', 'epoch', 30, 3, 'epoch', 'r')")
	exec("insert into control.generation_part (generation, partition, part, sequence) select id, 1, 0, 9 from control.generation")
	expectStates("a retry", "1 applied 20 7, 2 waiting, 3 waiting, 4 waiting")
	if _, err := migrations.DownTo(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	expectStates("down", "1 applied 20 7, 2 waiting, 3 open, 4 waiting")
	var parts string
	if err := pool.QueryRow(t.Context(), "select string_agg(retry_seq::text, ', ' order by partition) from control.generation_part").Scan(&parts); err != nil || parts != "7, 0" {
		t.Errorf("retry numbers of parts = %s, %v, want 7, 0", parts, err)
	}
}

// Migration 8 gives the projector one right and takes it away again.
func TestMigration8_GrantsThePartsOfARebuild(t *testing.T) {
	d := schematest.New(t)
	migrations, err := schema.ControlMigrations(stdlib.OpenDBFromPool(d.Pool(t)))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), d.RoleURL("callboard_projector"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	expect := func(step string, allowed bool) {
		t.Helper()
		_, err := conn.Exec(t.Context(), "select from control.generation_part")
		if (err == nil) != allowed {
			t.Errorf("after %s: error = %v, want allowed = %t", step, err, allowed)
		}
	}
	expect("up", true)
	if _, err := migrations.DownTo(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	expect("down", false)
	if _, err := migrations.UpTo(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	expect("up again", true)
}
