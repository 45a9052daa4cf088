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
)

func (d *desk) roll(id uuid.UUID, r Roll) RolledKey {
	d.Helper()
	rolled, err := d.registry.Roll(context.Background(), id, r)
	if err != nil {
		d.Fatal(err)
	}
	return rolled
}

// unrolled is why a key can't be rolled.
func (d *desk) unrolled(id uuid.UUID) RollError {
	d.Helper()
	_, err := d.registry.Roll(context.Background(), id, Roll{})
	var refusal *RollError
	if !errors.As(err, &refusal) {
		d.Fatalf("not refused: %v", err)
	}
	return *refusal
}

// remaining is how long the database says that a key has, and zero where it has for ever.
func (d *desk) remaining(id uuid.UUID) time.Duration {
	d.Helper()
	var left *time.Duration
	if err := d.super.QueryRow(context.Background(), "select expires_at - now() from access.key where id = $1", id).Scan(&left); err != nil {
		d.Fatal(err)
	}
	if left == nil {
		return 0
	}
	return *left
}

// about tells whether a key that had the whole of a time at the start of the test has what is left of it.
func (d *desk) about(id uuid.UUID, whole time.Duration) bool {
	d.Helper()
	left := d.remaining(id)
	return left <= whole && left > whole-30*time.Minute
}

func everything() Request {
	return Request{
		Name:         "Everything",
		Grant:        Grant{Kind: GrantOrganization, ID: uuid.New()},
		Scopes:       Scopes(),
		OwnExtension: uuid.NullUUID{UUID: uuid.New(), Valid: true},
		Networks:     []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")},
		Tier:         TierPremium,
	}
}

// The new key has all rights of the old, and what is the key's own is new.
func TestRegistry_Roll(t *testing.T) {
	d := newDesk(t)
	old := d.issue(everything())
	rolled := d.roll(old.ID, Roll{Overlap: time.Hour})
	if rolled.ID == old.ID || rolled.Short != rolled.Key.Short() || rolled.Key.Short() == old.Short || rolled.State != StateActive {
		t.Errorf("%+v", rolled)
	}
	expected := rolled.Record
	expected.ID, expected.Short, expected.CreatedAt = old.ID, old.Short, old.CreatedAt
	if !reflect.DeepEqual(expected, old.Record) {
		t.Errorf("rolled %+v\nfrom   %+v", rolled.Record, old.Record)
	}
	if rolled.Old.ID != old.ID || rolled.Old.State != StateActive || !d.about(old.ID, time.Hour) {
		t.Errorf("the old one: %+v", rolled.Old)
	}
	for _, id := range []uuid.UUID{old.ID, rolled.ID} {
		family := d.show(id)
		if family.ID != id || len(family.LineageKeys) != 2 || family.LineageKeys[0].ID != rolled.ID || family.LineageKeys[1].ID != old.ID {
			t.Errorf("%+v", family)
		}
	}
	if successor := d.show(old.ID).Successor(); successor == nil || successor.ID != rolled.ID || d.show(rolled.ID).Successor() != nil {
		t.Errorf("successor %+v", successor)
	}
}

// During the overlap both keys are admitted, on one budget; the end of the old one is no end of the new.
func TestRegistry_RollAdmits(t *testing.T) {
	d := newDesk(t)
	a := d.authority(d.pepper)
	old := d.issue(plain())
	rolled := d.roll(old.ID, Roll{Overlap: time.Hour})
	before, after := d.admit(a, old.Key, uuid.Nil), d.admit(a, rolled.Key, uuid.Nil)
	if before.Lineage != after.Lineage || before.KeyID == after.KeyID {
		t.Errorf("%+v and %+v", before, after)
	}
	d.exec("update access.key set expires_at = expires_at - interval '1 hour' where id = $1", old.ID)
	if got := d.denied(a, Attempt{Credential: Parse(old.Key.Reveal())}); got.Reason != "expired" {
		t.Errorf("%+v", got)
	}
	d.admit(a, rolled.Key, uuid.Nil)
	last := d.roll(rolled.ID, Roll{})
	if got := d.denied(a, Attempt{Credential: Parse(rolled.Key.Reveal())}); got.Reason != "expired" || last.Old.State != StateExpired {
		t.Errorf("without an overlap: %+v, %+v", got, last.Old)
	}
	if permit := d.admit(a, last.Key, uuid.Nil); permit.Lineage != before.Lineage {
		t.Errorf("%+v", permit)
	}
}

func TestRegistry_RollExpiry(t *testing.T) {
	d := newDesk(t)
	const day = 24 * time.Hour
	month := plain()
	month.Expires = time.Now().Add(30 * day)
	for name, c := range map[string]struct {
		aged     time.Duration // how long ago the key was issued
		roll     Roll
		old, new time.Duration
	}{
		"as long again":               {10 * day, Roll{Overlap: day}, day, 30 * day},
		"ends before the overlap":     {29 * day, Roll{Overlap: 2 * day}, day, 30 * day},
		"another life":                {0, Roll{Overlap: 2 * day, Lifetime: 90 * day}, 2 * day, 90 * day},
		"a shorter life than overlap": {0, Roll{Overlap: 2 * day, Lifetime: day}, 2 * day, day},
	} {
		key := d.issue(month)
		d.exec("update access.key set created_at = created_at - $2::interval, expires_at = expires_at - $2::interval where id = $1", key.ID, c.aged)
		rolled := d.roll(key.ID, c.roll)
		if !d.about(key.ID, c.old) || !d.about(rolled.ID, c.new) {
			t.Errorf("%s: the old one has %s, the new one %s", name, d.remaining(key.ID), d.remaining(rolled.ID))
		}
	}
	// The end that a roll has given to a key is not what the key was issued for.
	old := d.issue(plain())
	first := d.roll(old.ID, Roll{Overlap: day})
	d.revoke(first.ID)
	if second := d.roll(old.ID, Roll{Overlap: 2 * day}); d.remaining(second.ID) != 0 || !d.about(old.ID, day) {
		t.Errorf("the old one has %s, the new one %s", d.remaining(old.ID), d.remaining(second.ID))
	}
}

func (d *desk) revoke(id uuid.UUID) {
	d.Helper()
	if err := d.registry.Revoke(context.Background(), id); err != nil {
		d.Fatal(err)
	}
}

func TestRegistry_RollRefused(t *testing.T) {
	d := newDesk(t)
	old := d.issue(plain())
	middle := d.roll(old.ID, Roll{Overlap: time.Hour})
	newest := d.roll(middle.ID, Roll{Overlap: time.Hour})
	for _, id := range []uuid.UUID{old.ID, middle.ID} {
		if got := d.unrolled(id); got != (RollError{StateActive, newest.ID}) || !strings.Contains(got.Error(), newest.ID.String()) {
			t.Errorf("%+v", got)
		}
	}
	d.revoke(newest.ID)
	if got := d.unrolled(newest.ID); got != (RollError{State: StateRevoked}) || !strings.Contains(got.Error(), "issue a new one") {
		t.Errorf("revoked: %+v", got)
	}
	if got := d.unrolled(old.ID); got != (RollError{StateActive, middle.ID}) {
		t.Errorf("with a dead successor of a live one: %+v", got)
	}
	d.exec("update access.key set expires_at = now() where id = $1", middle.ID)
	if got := d.unrolled(middle.ID); got != (RollError{State: StateExpired}) {
		t.Errorf("expired: %+v", got)
	}
	d.roll(old.ID, Roll{})
	if _, err := d.registry.Roll(t.Context(), uuid.New(), Roll{}); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("an unknown key: %v", err)
	}
	for name, r := range map[string]Roll{"overlap": {Overlap: -1}, "overlap ": {Overlap: 30*24*time.Hour + 1}, "expiry": {Lifetime: -1}} {
		var invalid *RequestError
		if _, err := d.registry.Roll(t.Context(), newest.ID, r); !errors.As(err, &invalid) || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := NewRegistry(d.registry.pool, Pepper{}).Roll(t.Context(), old.ID, Roll{}); !errors.Is(err, errPepper) {
		t.Errorf("without a pepper: %v", err)
	}
}

// Of those who roll one key at once, one does, and the others are told of its key.
func TestRegistry_RollAtOnce(t *testing.T) {
	d := newDesk(t)
	old := d.issue(plain())
	const hands = 4
	rolled, errs := make(chan uuid.UUID, hands), make(chan error, hands)
	hold, err := d.super.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hold.Exec(t.Context(), "select from access.key for update"); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range hands {
		group.Go(func() {
			key, err := d.registry.Roll(t.Context(), old.ID, Roll{Overlap: time.Hour})
			if err != nil {
				errs <- err
				return
			}
			rolled <- key.ID
		})
	}
	d.waiting(hands)
	if err := hold.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if len(rolled) != 1 || len(errs) != hands-1 {
		t.Fatalf("%d rolled, %d did not", len(rolled), len(errs))
	}
	winner := <-rolled
	for range hands - 1 {
		var refusal *RollError
		if err := <-errs; !errors.As(err, &refusal) || refusal.Successor != winner {
			t.Errorf("%v", err)
		}
	}
	if family := d.show(old.ID); len(family.LineageKeys) != 2 {
		t.Errorf("%+v", family)
	}
}

// A roll that has waited for a revocation sees it, though it began before.
func TestRegistry_RollDuringRevocation(t *testing.T) {
	d := newDesk(t)
	key := d.issue(plain())
	revocation, err := d.super.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := revocation.Exec(t.Context(), "select from access.key for update"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := d.registry.Roll(t.Context(), key.ID, Roll{})
		ended <- err
	}()
	d.waiting(1)
	if _, err := revocation.Exec(t.Context(), "update access.key set revoked_at = clock_timestamp()"); err != nil {
		t.Fatal(err)
	}
	if err := revocation.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var refusal *RollError
	if err := <-ended; !errors.As(err, &refusal) || refusal.State != StateRevoked {
		t.Errorf("%v", err)
	}
}

// waiting waits until so many statements on the database wait for a lock.
func (d *desk) waiting(want int) {
	d.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for n := 0; n < want; <-tick.C {
		err := d.super.QueryRow(d.Context(),
			"select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'").Scan(&n)
		if err != nil {
			d.Fatal(err)
		}
	}
}

// A roll moves a key to the current pepper: once no old key is live, the old pepper can go.
func TestRegistry_RollRenewsPepper(t *testing.T) {
	d := newDesk(t)
	next := pepperOf(t, 'b')
	old := d.issue(plain())
	both, only := d.authority(next, d.pepper), d.authority(next)
	d.admit(both, old.Key, uuid.Nil)
	rolled, err := NewRegistry(d.registry.pool, next).Roll(t.Context(), old.ID, Roll{Overlap: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []Key{old.Key, rolled.Key} {
		d.admit(both, key, uuid.Nil)
	}
	d.admit(only, rolled.Key, uuid.Nil)
	if got := d.denied(only, Attempt{Credential: Parse(old.Key.Reveal())}); !strings.Contains(got.Reason, "not held: "+d.pepper.ID()) {
		t.Errorf("%+v", got)
	}
}

// A revocation is felt by the very next request, whoever answers it.
func TestRegistry_RevokeAtOnce(t *testing.T) {
	d := newDesk(t)
	readers := []*Authorizer{d.authority(d.pepper), d.authority(d.pepper)}
	for range 20 {
		key := d.issue(plain())
		for _, a := range readers {
			d.admit(a, key.Key, uuid.Nil)
		}
		d.revoke(key.ID)
		for _, a := range readers {
			if got := d.denied(a, Attempt{Credential: Parse(key.Key.Reveal())}); got.Reason != "revoked" {
				t.Errorf("%+v", got)
			}
		}
	}
}
