package access

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.RunAndFindLeaks(m) }

// harness has a database, an operator's registry and a reader's pool.
type harness struct {
	testing.TB
	super    *pgxpool.Pool
	registry *Registry
	reader   *pgxpool.Pool
	pepper   Pepper
}

func newHarness(tb testing.TB) *harness {
	tb.Helper()
	database := schematest.New(tb)
	database.OnePartition(tb)
	h := &harness{TB: tb, super: database.Pool(tb), pepper: pepperOf(tb, 'a')}
	h.registry = NewRegistry(database.RolePool(tb, "callboard_operator"), h.pepper)
	h.reader = database.RolePool(tb, "callboard_reader")
	return h
}

func pepperOf(tb testing.TB, c byte) Pepper {
	tb.Helper()
	pepper, err := NewPepper(bytes.Repeat([]byte{c}, 32))
	if err != nil {
		tb.Fatal(err)
	}
	return pepper
}

func (h *harness) issue(r KeySpec) IssuedKey {
	h.Helper()
	issued, err := h.registry.Issue(context.Background(), r)
	if err != nil {
		h.Fatal(err)
	}
	return issued
}

func (h *harness) show(id uuid.UUID) KeyWithLineage {
	h.Helper()
	shown, err := h.registry.Show(context.Background(), id)
	if err != nil {
		h.Fatal(err)
	}
	return shown
}

func (h *harness) revoke(id uuid.UUID) {
	h.Helper()
	if _, err := h.registry.Revoke(context.Background(), id); err != nil {
		h.Fatal(err)
	}
}

func (h *harness) exec(sql string, arguments ...any) {
	h.Helper()
	schematest.Exec(h, h.super, sql, arguments...)
}

func minimalSpec() KeySpec {
	return KeySpec{Name: "test", Grant: Grant{Kind: GrantSystem, ID: uuid.New()}, Scopes: []Scope{ScopeCalls}}
}
