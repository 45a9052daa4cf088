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

// What each role may do, and what it may not.
func TestRoles(t *testing.T) {
	d := schematest.New(t)
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
		{"callboard_reader", "set default_transaction_read_only = off; truncate projection.call_log", false},
		{"callboard_reader", key, false},
		{"callboard_reader", "select count(*) from control.dead_letter", false},
		{"callboard_reader", "create table projection.mine ()", false},
		{"callboard_reader", "create table public.mine ()", false},
		{"callboard_reader", "create temp table mine ()", true}, // touches nothing that anybody sees
		{"callboard_projector", "delete from projection.call_log", true},
		{"callboard_projector", "select count(*) from control.clock_lift", true},
		{"callboard_projector", "delete from control.clock_lift", false},
		{"callboard_projector", "delete from control.dead_letter", false},
		{"callboard_projector", "select count(*) from access.key", false},
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
