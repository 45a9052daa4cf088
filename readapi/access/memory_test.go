package access

import (
	"errors"
	"net/netip"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/schema/schematest"
)

// countingAuthorizer returns an authorizer with a stopped clock, and the number of its statements.
func (h *harness) countingAuthorizer() (a *Authorizer, clock *time.Time, statements *atomic.Int64) {
	h.Helper()
	statements = new(atomic.Int64)
	pool := schematest.OpenTracedPool(h, h.reader, &schematest.Tracer{Statement: func(string, []any) { statements.Add(1) }})
	now := time.Now()
	a, err := NewAuthorizer(pool, []Pepper{h.pepper}, func() time.Time { return now })
	if err != nil {
		h.Fatal(err)
	}
	return a, &now, statements
}

// A revoked or expired key costs one statement a minute. Its secret is verified all the same. A live key is never
// remembered: its revocation is seen at once.
func TestAuthorizer_RemembersDeadKeys(t *testing.T) {
	schematest.NeedOneServer(t, "it counts statements")
	t.Parallel()
	h := newHarness(t)
	a, clock, statements := h.countingAuthorizer()
	expect := func(of IssuedKey, key Key, reason string, want int64) {
		t.Helper()
		before := statements.Load()
		for range 3 {
			d := h.denied(a, AuthorizeParams{Credential: Parse(key.Reveal())})
			if want := (DeniedError{Unauthenticated, reason, of.ID, of.Lineage, reason != "wrong secret"}); d != want {
				t.Errorf("denial = %+v, want %+v", d, want)
			}
		}
		if got := statements.Load() - before; got != want {
			t.Errorf("%s: statements = %d, want %d", reason, got, want)
		}
	}
	revoked, expired := h.issue(minimalSpec()), h.issue(minimalSpec())
	h.authorize(a, revoked.Key, uuid.Nil)
	h.exec("update access.key set expires_at = now() + interval '1 hour'")
	h.authorize(a, revoked.Key, uuid.Nil)
	if got := statements.Load(); got != 3 { // the first one tells whether there are nodes
		t.Errorf("live key: statements = %d, want 3", got)
	}
	h.revoke(revoked.ID)
	h.exec("update access.key set expires_at = now() - interval '1 second' where id = $1", expired.ID)
	expect(revoked, revoked.Key, "revoked", 1)
	expect(expired, expired.Key, "expired", 1)
	wrong := NewKey()
	text := KeyPrefix + revoked.Short + wrong.Reveal()[len(KeyPrefix)+shortLength:keyLength-checksumLength]
	expect(revoked, Parse(text+checksum(text)).Key, "wrong secret", 0)
	unknown := AuthorizeParams{Credential: Parse(NewKey().Reveal())}
	if got, want := h.denied(a, unknown), (DeniedError{Code: Unauthenticated, Reason: "unknown key"}); got != want {
		t.Errorf("unknown key: denial = %+v, want %+v", got, want)
	}
	*clock = clock.Add(deadTime + time.Second)
	expect(revoked, revoked.Key, "revoked", 1)
}

// A network that sends unknown keys is throttled: its keys are not looked up, except those that were valid within
// the hour. Other networks are not.
func TestAuthorizer_ThrottlesUnknownKeys(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	a, clock, statements := h.countingAuthorizer()
	seen, unseen := h.issue(minimalSpec()).Key, h.issue(minimalSpec()).Key
	inside, beside, outside := netip.MustParseAddr("2001:db8::7"), netip.MustParseAddr("2001:db8::1:7"), netip.MustParseAddr("2001:db8:0:1::7")
	attempt := func(key Key, client netip.Addr) error {
		_, err := a.Authorize(t.Context(), AuthorizeParams{Credential: Parse(key.Reveal()), Client: client})
		return err
	}
	expect := func(what string, err error, throttled bool) {
		t.Helper()
		if errors.Is(err, ErrThrottled) != throttled {
			t.Errorf("%s: error = %v, want throttled = %t", what, err, throttled)
		}
	}
	expect("a valid key", attempt(seen, inside), false)
	for i := range unknownBurst {
		expect("unknown key "+strconv.Itoa(i), attempt(NewKey(), inside), false)
	}
	before := statements.Load()
	expect("another unknown key", attempt(NewKey(), beside), true)
	expect("a key that was not seen", attempt(unseen, inside), true)
	if got := statements.Load(); got != before {
		t.Errorf("statements of throttled keys = %d, want none", got-before)
	}
	expect("a key that was valid", attempt(seen, inside), false)
	expect("another network", attempt(NewKey(), outside), false)
	expect("a key that was not seen, of another network", attempt(unseen, outside), false)
	*clock = clock.Add(time.Second / unknownRate)
	expect("an unknown key after a pause", attempt(NewKey(), inside), false)
	expect("the next one", attempt(NewKey(), inside), true)
	*clock = clock.Add(validTime)
	for range unknownBurst {
		expect("unknown key after an hour", attempt(NewKey(), inside), false)
	}
	expect("a key that was valid more than an hour ago", attempt(seen, inside), true)
	expect("a key that has no form", attempt(Key{}, inside), false)
}

// Memories forget what was not used for longest.
func TestRecent(t *testing.T) {
	t.Parallel()
	l := newRecent[int, string](4)
	for i := range 3 {
		l.put(i, strconv.Itoa(i))
	}
	l.get(0)
	l.put(3, "3")
	l.put(0, "zero")
	for key, want := range map[int]string{0: "zero", 1: "", 2: "2", 3: "3"} {
		if got, found := l.get(key); got != want || found != (want != "") {
			t.Errorf("value of %d = %q, %t, want %q", key, got, found, want)
		}
	}
	d := newDeadKeys()
	for i := range maxRemembered + 10 {
		d.add(strconv.Itoa(i), candidate{}, time.Now())
	}
	if got := len(d.keys.newer) + len(d.keys.older); got > maxRemembered || got < maxRemembered/2 {
		t.Errorf("remembered keys = %d, want %d to %d", got, maxRemembered/2, maxRemembered)
	}
}
