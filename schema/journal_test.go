package schema_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"callboard/schema/schematest"
)

// keyEnd is when a key ends. Nil is never.
type keyEnd struct{ revokedAt, expiresAt *time.Time }

// least returns the earlier end.
func (e keyEnd) least(other keyEnd) keyEnd {
	return keyEnd{earlier(e.revokedAt, other.revokedAt), earlier(e.expiresAt, other.expiresAt)}
}

func earlier(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

func (e keyEnd) equal(other keyEnd) bool {
	same := func(a, b *time.Time) bool { return a == nil && b == nil || a != nil && b != nil && a.Equal(*b) }
	return same(e.revokedAt, other.revokedAt) && same(e.expiresAt, other.expiresAt)
}

// Whatever the order of the calls, a key ends at the earliest of the times that it had and was given, and no call makes
// it live longer.
func TestWithdraw_NeverLengthens(t *testing.T) {
	d := migrated(t)
	owner := d.Pool(t)
	projector := d.RolePool(t, "callboard_projector")
	epoch := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	instant := rapid.Custom(func(r *rapid.T) *time.Time {
		minutes := rapid.IntRange(-1, 20).Draw(r, "minutes")
		if minutes < 0 {
			return nil
		}
		at := epoch.Add(time.Duration(minutes) * time.Minute)
		return &at
	})
	end := rapid.Custom(func(r *rapid.T) keyEnd { return keyEnd{instant.Draw(r, "revoked"), instant.Draw(r, "expires")} })
	rapid.Check(t, func(r *rapid.T) {
		id, want := uuid.New(), end.Draw(r, "key")
		schematest.Exec(t, owner, `
			insert into access.key (id, lineage, name, short, hash, pepper_id, grant_kind, grant_id, scopes, revoked_at, expires_at)
			values ($1, $1, 'k', $2, 'h', 'p', 'system', $1, '{}', $3, $4)`, id, id.String(), want.revokedAt, want.expiresAt)
		for _, given := range rapid.SliceOfN(end, 1, 5).Draw(r, "calls") {
			after := want.least(given)
			var changed bool
			err := projector.QueryRow(t.Context(), "select access.withdraw($1, $2, $3)", id, given.revokedAt, given.expiresAt).Scan(&changed)
			if err != nil || changed == after.equal(want) {
				r.Fatalf("withdraw %v of a key with %v: changed = %t, error = %v", given, want, changed, err)
			}
			var got keyEnd
			row := owner.QueryRow(t.Context(), "select revoked_at, expires_at from access.key where id = $1", id)
			if err := row.Scan(&got.revokedAt, &got.expiresAt); err != nil || !got.equal(after) {
				r.Fatalf("key = %v, error = %v, want %v", got, err, after)
			}
			want = after
		}
	})
}

// A call ends no other key, and none ends for an unknown one.
func TestWithdraw_OneKey(t *testing.T) {
	d := migrated(t)
	owner := d.Pool(t)
	other := uuid.New()
	schematest.Exec(t, owner, `
		insert into access.key (id, lineage, name, short, hash, pepper_id, grant_kind, grant_id, scopes)
		values ($1, $1, 'k', 's', 'h', 'p', 'system', $1, '{}')`, other)
	for _, id := range []*uuid.UUID{nil, new(uuid.New())} {
		if schematest.QueryOne[bool](t, d.RolePool(t, "callboard_operator"), "select access.withdraw($1, now(), now())", id) {
			t.Errorf("key %v: changed = true, want false", id)
		}
	}
	if n := schematest.QueryOne[int](t, owner, "select count(*)::int from access.key where revoked_at is null"); n != 1 {
		t.Errorf("live keys = %d, want 1", n)
	}
}

// A transaction waits for the disk whatever the session says, and what waits for more stays as it is. The session keeps
// its setting.
func TestCommitDurably(t *testing.T) {
	d := migrated(t)
	for level, want := range map[string]string{
		"off": "on", "local": "on", "remote_write": "on", "on": "on", "remote_apply": "remote_apply",
	} {
		conn := d.Connect(t, "callboard_operator", map[string]string{"synchronous_commit": level})
		const show = "select current_setting('synchronous_commit')"
		err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			schematest.Exec(t, tx, "select control.commit_durably()")
			if got := schematest.QueryOne[string](t, tx, show); got != want {
				t.Errorf("setting after %s = %s, want %s", level, got, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := schematest.QueryOne[string](t, conn, show); got != level {
			t.Errorf("setting after the transaction = %s, want %s", got, level)
		}
	}
}
