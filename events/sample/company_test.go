package sample

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
)

// stream yields what a company publishes, the directory first.
func stream(c *Company, yield func(events.Event) bool) {
	for e := range c.Directory() {
		if !yield(e) {
			return
		}
	}
	for e := range c.History() {
		if !yield(e) {
			return
		}
	}
}

// digest is the SHA-256 of everything that a company publishes, as it travels.
func digest(t *testing.T, config Config) string {
	t.Helper()
	h := sha256.New()
	for e := range func(yield func(events.Event) bool) { stream(New(config), yield) } {
		m, err := events.Encode(e)
		if err != nil {
			t.Fatalf("%s: %v\n%s", e.ID, err, m.Data)
		}
		for _, text := range []string{m.Subject, e.ID, e.Source, e.Type(), m.Header.Get("ce-time")} {
			h.Write([]byte(text + "\n"))
		}
		h.Write(m.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// The digest changes with the sample's contents and with the way in which events are written. Where neither was meant to change,
// something depends on the machine, on the order of a map or on a clock.
func TestCompany_Golden(t *testing.T) {
	const want = "540d9c7e40f738bb852cf0712666e57ff3e360df70ba57c642c648b0118a77e8"
	if got := digest(t, Config{Seed: 42, Systems: 7, Calls: 400}); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// Nothing is shared: not between two things of a company, and not between companies of neighbouring seeds.
func TestCompany_IdentifiersAreUnique(t *testing.T) {
	seen := map[uuid.UUID]uint64{}
	for seed := range uint64(50) {
		c := New(Config{Seed: seed, Systems: 12})
		for _, target := range slices.Concat(c.Systems(), c.Groups(), c.Organizations()) {
			if other, taken := seen[target.ID]; taken {
				t.Errorf("seeds %d and %d: both have %s", other, seed, target.ID)
			}
			seen[target.ID] = seed
		}
	}
}

func TestCompany_Deterministic(t *testing.T) {
	config := Config{Seed: 7, Systems: 5, Calls: 1500, Days: 9}
	once := digest(t, config)
	if again := digest(t, config); again != once {
		t.Error("the same seed gave another stream")
	}
	config.Seed++
	if other := digest(t, config); other == once {
		t.Error("another seed gave the same stream")
	}
}

func TestCompany_SharedByGoroutines(t *testing.T) {
	c := New(Config{Seed: 3, Systems: 3, Calls: 300})
	counts := make(chan int)
	for range 2 {
		go func() {
			n := 0
			stream(c, func(events.Event) bool { n++; return true })
			counts <- n
		}()
	}
	if a, b := <-counts, <-counts; a != b || a == 0 {
		t.Errorf("two readers saw %d and %d events", a, b)
	}
}

func TestCompany_ExactCalls(t *testing.T) {
	for _, config := range []Config{
		{Systems: 4, Calls: -1}, {Systems: 1, Calls: 1}, {Systems: 3, Calls: 2}, {Systems: 1, Calls: 997, Days: 1},
		{Systems: 13, Calls: 5000}, {Systems: 40, Calls: 40}, {Systems: 2, Calls: 12000, Days: 2},
	} {
		for seed := range uint64(3) {
			config.Seed = seed
			ids := map[string]bool{}
			for e := range New(config).History() {
				if e.Entity == events.EntityCall {
					ids[e.Key] = true
				}
			}
			if len(ids) != max(config.Calls, 0) {
				t.Errorf("%+v: %d calls", config, len(ids))
			}
		}
	}
}

func TestCompany_StopsEarly(t *testing.T) {
	c := New(Config{Calls: 100})
	for n := range 3 {
		seen := 0
		for range c.History() {
			if seen++; seen > n {
				break
			}
		}
		if seen != n+1 {
			t.Errorf("saw %d events, want %d", seen, n+1)
		}
	}
}

func TestCompany_Window(t *testing.T) {
	until := time.Date(2025, time.June, 15, 13, 37, 11, 0, time.UTC)
	c := New(Config{Calls: 2000, Until: until, Days: 3})
	from, last := until.AddDate(0, 0, -3), time.Time{}
	for e := range c.History() {
		if e.Time.Before(last) || e.Time.After(until) {
			t.Fatalf("%s at %s, after %s", e.ID, e.Time, last)
		}
		last = e.Time
		if call, ok := e.State.(*events.Call); ok && (call.CreatedAt.Std().Before(from) || call.EndTime.Value.Std().After(e.Time)) {
			t.Fatalf("call from %s to %s, published %s", call.CreatedAt, call.EndTime.Value, e.Time)
		}
	}
	if until.Sub(last) > time.Hour {
		t.Errorf("the last event is of %s", last)
	}
}

func TestCompany_Targets(t *testing.T) {
	c := New(Config{Seed: 1, Systems: 6})
	if len(c.Systems()) != 6 || len(c.Groups()) != 2 || len(c.Organizations()) != 2 {
		t.Fatalf("%d systems, %d groups, %d organizations", len(c.Systems()), len(c.Groups()), len(c.Organizations()))
	}
	systems, organizations := map[string]string{}, map[string]bool{}
	for e := range c.Directory() {
		if s, ok := e.State.(*events.PhoneSystem); ok {
			systems[s.ID.String()] = s.Name
			organizations[s.OrganizationID.Value.String()] = s.OrganizationID.Valid
		}
	}
	for _, s := range c.Systems() {
		if systems[s.ID.String()] != s.Name {
			t.Errorf("system %s is %q in the directory, not %q", s.ID, systems[s.ID.String()], s.Name)
		}
	}
	for _, o := range c.Organizations() {
		if !organizations[o.ID.String()] || o.Name == "" {
			t.Errorf("organization %v has no system or no name", o)
		}
	}
}
