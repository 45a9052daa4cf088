package access

import (
	"context"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

func (h *harness) roll(id uuid.UUID, r Roll) RolledKey {
	h.Helper()
	rolled, err := h.registry.Roll(context.Background(), id, r)
	if err != nil {
		h.Fatal(err)
	}
	return rolled
}

// rollRefusal rolls a key and returns the refusal.
func (h *harness) rollRefusal(id uuid.UUID) RollError {
	h.Helper()
	_, err := h.registry.Roll(context.Background(), id, Roll{})
	var refusal *RollError
	if !errors.As(err, &refusal) {
		h.Fatalf("error = %v, want a RollError", err)
	}
	return *refusal
}

// remaining returns how long a key is live by the database's clock, and zero for a key without an expiry.
func (h *harness) remaining(id uuid.UUID) time.Duration {
	h.Helper()
	left := schematest.QueryOne[*time.Duration](h, h.super, "select expires_at - now() from access.key where id = $1", id)
	if left == nil {
		return 0
	}
	return *left
}

// expiresIn reports whether a key has the given lifetime, less at most half an hour since the start of the test.
func (h *harness) expiresIn(id uuid.UUID, whole time.Duration) bool {
	h.Helper()
	left := h.remaining(id)
	return left <= whole && left > whole-30*time.Minute
}

func fullRequest() KeySpec {
	return KeySpec{
		Name:         "Everything",
		Grant:        Grant{Kind: GrantOrganization, ID: uuid.New()},
		Scopes:       Scopes(),
		OwnExtension: uuid.NullUUID{UUID: uuid.New(), Valid: true},
		Networks:     []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")},
		Tier:         TierPremium,
	}
}

// The new key has all rights of the old one, and its own id, secret and dates.
func TestRegistry_Roll(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	old := h.issue(fullRequest())
	rolled := h.roll(old.ID, Roll{Overlap: time.Hour})
	if rolled.ID == old.ID || rolled.Short != rolled.Key.Short() || rolled.Key.Short() == old.Short || rolled.State != StateActive {
		t.Errorf("rolled = %+v, want a new active key", rolled)
	}
	expected := rolled.Record
	expected.ID, expected.Short, expected.CreatedAt = old.ID, old.Short, old.CreatedAt
	if !reflect.DeepEqual(expected, old.Record) {
		t.Errorf("rolled = %+v,\nwant the rights of %+v", rolled.Record, old.Record)
	}
	if rolled.Old.ID != old.ID || rolled.Old.State != StateActive || !h.expiresIn(old.ID, time.Hour) {
		t.Errorf("old = %+v, want it active for the overlap", rolled.Old)
	}
	if h.show(rolled.ID).Successor() != nil {
		t.Error("the new key has a successor")
	}
	for _, id := range []uuid.UUID{old.ID, rolled.ID} {
		shown := h.show(id)
		if shown.ID != id || len(shown.LineageKeys) != 2 || shown.LineageKeys[0].ID != rolled.ID || shown.LineageKeys[1].ID != old.ID {
			t.Errorf("shown = %+v, want a lineage of two keys, the new one first", shown)
		}
	}
	if successor := h.show(old.ID).Successor(); successor == nil || successor.ID != rolled.ID {
		t.Errorf("successor = %+v, want the rolled key", successor)
	}
	if again := h.roll(rolled.ID, Roll{}); again.Old.State != StateExpired || again.Lineage != old.Lineage {
		t.Errorf("rolled without an overlap = %+v, want the old key expired, and the same lineage", again)
	}
}

func TestRegistry_RollExpiry(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const day = 24 * time.Hour
	month := minimalSpec()
	month.Expires = time.Now().Add(30 * day)
	for name, c := range map[string]struct {
		aged     time.Duration // how long ago the key was issued
		roll     Roll
		old, new time.Duration
	}{
		"the same lifetime":                   {10 * day, Roll{Overlap: day}, day, 30 * day},
		"ends before the overlap":             {29 * day, Roll{Overlap: 2 * day}, day, 30 * day},
		"another lifetime":                    {0, Roll{Overlap: 2 * day, Lifetime: 90 * day}, 2 * day, 90 * day},
		"a lifetime shorter than the overlap": {0, Roll{Overlap: 2 * day, Lifetime: day}, 2 * day, day},
	} {
		key := h.issue(month)
		h.exec("update access.key set created_at = created_at - $2::interval, expires_at = expires_at - $2::interval where id = $1", key.ID, c.aged)
		rolled := h.roll(key.ID, c.roll)
		if !h.expiresIn(key.ID, c.old) || !h.expiresIn(rolled.ID, c.new) {
			t.Errorf("%s: remaining: old = %s, new = %s, want %s and %s", name, h.remaining(key.ID), h.remaining(rolled.ID), c.old, c.new)
		}
	}
	// An expiry that was set by a roll is not the lifetime for the next roll.
	old := h.issue(minimalSpec())
	first := h.roll(old.ID, Roll{Overlap: day})
	h.revoke(first.ID)
	if second := h.roll(old.ID, Roll{Overlap: 2 * day}); h.remaining(second.ID) != 0 || !h.expiresIn(old.ID, day) {
		t.Errorf("remaining: old = %s, new = %s, want a day and no expiry", h.remaining(old.ID), h.remaining(second.ID))
	}
}

func TestRegistry_RefusesRolls(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	old := h.issue(minimalSpec())
	middle := h.roll(old.ID, Roll{Overlap: time.Hour})
	newest := h.roll(middle.ID, Roll{Overlap: time.Hour})
	for _, id := range []uuid.UUID{old.ID, middle.ID} {
		if got := h.rollRefusal(id); got != (RollError{StateActive, newest.ID}) || !strings.Contains(got.Error(), newest.ID.String()) {
			t.Errorf("rolled key: refusal = %+v, want successor %s", got, newest.ID)
		}
	}
	h.revoke(newest.ID)
	if got := h.rollRefusal(newest.ID); got != (RollError{State: StateRevoked}) || !strings.Contains(got.Error(), "issue a new one") {
		t.Errorf("revoked key: refusal = %+v, want %s and advice to issue a new key", got, StateRevoked)
	}
	if got := h.rollRefusal(old.ID); got != (RollError{StateActive, middle.ID}) {
		t.Errorf("revoked successor of a live key: refusal = %+v, want successor %s", got, middle.ID)
	}
	h.exec("update access.key set expires_at = now() where id = $1", middle.ID)
	if got := h.rollRefusal(middle.ID); got != (RollError{State: StateExpired}) {
		t.Errorf("expired key: refusal = %+v, want %s", got, StateExpired)
	}
	h.roll(old.ID, Roll{})
	if _, err := h.registry.Roll(t.Context(), uuid.New(), Roll{}); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("unknown key: error = %v, want ErrUnknownKey", err)
	}
	for name, r := range map[string]Roll{"overlap": {Overlap: -1}, "overlap ": {Overlap: 30*24*time.Hour + 1}, "expiry": {Lifetime: -1}} {
		var invalid *InvalidError
		if _, err := h.registry.Roll(t.Context(), newest.ID, r); !errors.As(err, &invalid) || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%+v: error = %v, want a InvalidError with %q", r, err, name)
		}
	}
	if _, err := NewRegistry(h.registry.pool, Pepper{}).Roll(t.Context(), old.ID, Roll{}); !errors.Is(err, errPepper) {
		t.Errorf("without a pepper: error = %v, want errPepper", err)
	}
}

// Of several concurrent rolls of a key, one succeeds and the others are refused with its successor.
func TestRegistry_ConcurrentRolls(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	old := h.issue(minimalSpec())
	const rolls = 4
	rolled, errs := make(chan uuid.UUID, rolls), make(chan error, rolls)
	hold, err := h.super.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	schematest.Exec(t, hold, "select from access.key for update")
	var group sync.WaitGroup
	for range rolls {
		group.Go(func() {
			key, err := h.registry.Roll(t.Context(), old.ID, Roll{Overlap: time.Hour})
			if err != nil {
				errs <- err
				return
			}
			rolled <- key.ID
		})
	}
	h.waitForLocks(rolls)
	if err := hold.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if len(rolled) != 1 || len(errs) != rolls-1 {
		t.Fatalf("rolled = %d, refused = %d, want 1 and %d", len(rolled), len(errs), rolls-1)
	}
	winner := <-rolled
	for range rolls - 1 {
		var refusal *RollError
		if err := <-errs; !errors.As(err, &refusal) || refusal.Successor != winner {
			t.Errorf("error = %v, want a refusal with successor %s", err, winner)
		}
	}
	if shown := h.show(old.ID); len(shown.LineageKeys) != 2 {
		t.Errorf("lineage = %+v, want two keys", shown.LineageKeys)
	}
}

// waitForLocks waits until a number of statements in the database wait for a lock.
func (h *harness) waitForLocks(statements int) {
	h.Helper()
	eventstest.Eventually(h.TB, "statements that wait for a lock", func() bool {
		return schematest.QueryOne[int](h, h.super,
			"select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'") >= statements
	})
}
