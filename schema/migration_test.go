package schema_test

import (
	"context"
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
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
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
