package sample

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest/leaks"
)

func TestMain(m *testing.M) { leaks.Run(m) }

// digest is the SHA-256 of all messages that a company publishes.
func digest(t *testing.T, config Config) string {
	t.Helper()
	h := sha256.New()
	for e := range New(config).Events() {
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

// The digest changes with the sample's texts and rules and with the encoding of events. If none of these has changed,
// something depends on the machine, on the order of a map or on a clock.
func TestCompany_Digest(t *testing.T) {
	t.Parallel()
	const want = "e41ef1f4dc6e33f4b0ddbf94c224f12678a304362017aa7501cddc4ee1f3cc0b"
	if got := digest(t, Config{Seed: 42, Systems: 7, Calls: 400}); got != want {
		t.Errorf("digest = %s, want %s", got, want)
	}
}

// No identifier is used twice, within a company or by companies of neighbouring seeds.
func TestCompany_UniqueIdentifiers(t *testing.T) {
	t.Parallel()
	seen := map[uuid.UUID]uint64{}
	for seed := range uint64(50) {
		c := New(Config{Seed: seed, Systems: 12})
		for _, target := range slices.Concat(c.Systems(), c.Groups(), c.Organizations()) {
			if other, taken := seen[target.ID]; taken {
				t.Errorf("seeds %d and %d both have %s", other, seed, target.ID)
			}
			seen[target.ID] = seed
		}
	}
}

func TestCompany_FollowsFromSeed(t *testing.T) {
	t.Parallel()
	config := Config{Seed: 7, Systems: 5, Calls: 500, Days: 9}
	first := digest(t, config)
	if second := digest(t, config); second != first {
		t.Error("the same seed gives other events")
	}
	config.Seed++
	if other := digest(t, config); other == first {
		t.Error("another seed gives the same events")
	}
}

func TestCompany_ConcurrentUse(t *testing.T) {
	t.Parallel()
	c := New(Config{Seed: 3, Systems: 3, Calls: 300})
	counts := make(chan Counts)
	for range 2 {
		go func() { counts <- Count(c) }()
	}
	if first, second := <-counts, <-counts; first != second || first.Calls != 300 {
		t.Errorf("counts = %+v and %+v, want the same with 300 calls", first, second)
	}
}

func TestHistory_ExactCalls(t *testing.T) {
	t.Parallel()
	for _, config := range []Config{
		{Systems: 4, Calls: -1}, {Systems: 1, Calls: 1}, {Systems: 3, Calls: 2}, {Systems: 1, Calls: 997, Days: 1},
		{Systems: 13, Calls: 1500}, {Systems: 40, Calls: 40}, {Systems: 2, Calls: 4000, Days: 1},
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
				t.Errorf("%+v: calls = %d, want %d", config, len(ids), max(config.Calls, 0))
			}
		}
	}
}

func TestHistory_StopsEarly(t *testing.T) {
	t.Parallel()
	c := New(Config{Calls: 100})
	for n := range 3 {
		seen := 0
		for range c.History() {
			if seen++; seen > n {
				break
			}
		}
		if seen != n+1 {
			t.Errorf("events = %d, want %d", seen, n+1)
		}
	}
}

func TestHistory_Period(t *testing.T) {
	t.Parallel()
	until := time.Date(2025, time.June, 15, 13, 37, 11, 0, time.UTC)
	c := New(Config{Calls: 2000, Until: until, Days: 3})
	from, last := until.AddDate(0, 0, -3), time.Time{}
	for e := range c.History() {
		if e.Time.Before(last) || e.Time.After(until) {
			t.Fatalf("%s: time = %s, want one from %s to %s", e.ID, e.Time, last, until)
		}
		last = e.Time
		if call, ok := e.State.(*events.Call); ok && (call.CreatedAt.Std().Before(from) || call.EndTime.Value.Std().After(e.Time)) {
			t.Fatalf("call = %s to %s, want one from %s until its publication at %s", call.CreatedAt, call.EndTime.Value, from, e.Time)
		}
	}
	if until.Sub(last) > time.Hour {
		t.Errorf("time of the last event = %s, want one in the hour before %s", last, until)
	}
}

func TestCompany_Targets(t *testing.T) {
	t.Parallel()
	c := New(Config{Seed: 1, Systems: 6})
	if len(c.Systems()) != 6 || len(c.Groups()) != 2 || len(c.Organizations()) != 2 {
		t.Fatalf("targets = %d systems, %d groups, %d organizations, want 6, 2, 2",
			len(c.Systems()), len(c.Groups()), len(c.Organizations()))
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
			t.Errorf("name of system %s = %q, want %q as in the directory", s.ID, s.Name, systems[s.ID.String()])
		}
	}
	for _, o := range c.Organizations() {
		if !organizations[o.ID.String()] || o.Name == "" {
			t.Errorf("organization = %v, want one with a name and a system", o)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New(Config{Seed: 1, Systems: 100})
	}
}
