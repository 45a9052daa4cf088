package sample

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
)

func TestMain(m *testing.M) { eventstest.RunAndFindLeaks(m) }

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
	const want = "f8e7a1317b4ce770dfbe954bc043bee77c078d6aefad21d20b9e745f44f28827"
	config := Config{Seed: 42, Systems: 7, Calls: 400}
	if got := digest(t, config); got != want {
		t.Errorf("digest = %s, want %s", got, want)
	}
	config.Seed++
	if digest(t, config) == want {
		t.Error("another seed gives the same events")
	}
}

// No identifier is used twice, within a company or by companies of neighbouring seeds.
func TestCompany_UniqueIdentifiers(t *testing.T) {
	t.Parallel()
	seen := map[uuid.UUID]uint64{}
	for seed := range uint64(50) {
		c := New(Config{Seed: seed, Systems: 6})
		for range c.Events() {
			break // an iterator that went on would panic
		}
		if len(c.Systems()) != 6 || len(c.Groups()) != 2 || len(c.Organizations()) != 2 {
			t.Fatalf("targets = %d systems, %d groups, %d organizations, want 6, 2, 2",
				len(c.Systems()), len(c.Groups()), len(c.Organizations()))
		}
		for _, target := range slices.Concat(c.Systems(), c.Groups(), c.Organizations()) {
			if other, taken := seen[target.ID]; taken || target.Name == "" {
				t.Errorf("seed %d: target = %v, want a name, and an ID other than that of seed %d", seed, target, other)
			}
			seen[target.ID] = seed
		}
	}
}

func TestHistory_ExactCalls(t *testing.T) {
	t.Parallel()
	for _, config := range []Config{
		{Systems: 4, Calls: -1}, {Systems: 1, Calls: 1}, {Systems: 3, Calls: 2}, {Systems: 1, Calls: 997, Days: 1},
		{Systems: 40, Calls: 40},
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

// Events are in order, and calls are in the period and published after their end.
func TestHistory_Period(t *testing.T) {
	t.Parallel()
	until := time.Date(2025, time.June, 15, 13, 37, 11, 0, time.UTC)
	c := New(Config{Calls: 5000, Until: until, Days: 14})
	from, last := until.AddDate(0, 0, -14), time.Time{}
	for e := range c.History() {
		if e.Time.Before(last) || e.Time.After(until) {
			t.Fatalf("%s: time = %s, want one from %s to %s", e.ID, e.Time, last, until)
		}
		last = e.Time
		if call, ok := e.State.(*events.Call); ok && call.Version == 1 {
			if call.CreatedAt.Std().Before(from) || call.EndTime.Value.Std().After(e.Time) {
				t.Fatalf("call = %s to %s, want one from %s until its publication at %s",
					call.CreatedAt, call.EndTime.Value, from, e.Time)
			}
		}
	}
	if until.Sub(last) > time.Hour {
		t.Errorf("time of the last event = %s, want one in the hour before %s", last, until)
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	c := New(Config{Seed: 1, Calls: 500})
	checker := newChecker(t)
	for e := range c.Events() {
		checker.check(e)
	}
	history, noon := len(checker.owners), time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	live, repeated := c.Live(), c.Live()
	for i := range 1800 {
		now, calls := noon.Add(time.Duration(i)*time.Second), 0
		if i%5 == 0 {
			calls = 1
		}
		next, again := live.Next(now, calls), repeated.Next(now, calls)
		if len(again) != len(next) || len(next) > 0 && again[0].ID != next[0].ID {
			t.Fatal("the same times give other events")
		}
		for _, e := range next {
			checker.check(e)
			if e.Time.After(now) {
				t.Fatalf("%s: time = %s, want at most %s", e.ID, e.Time, now)
			}
			if _, err := events.Encode(e); err != nil {
				t.Fatalf("%s: %v", e.ID, err)
			}
		}
	}
	if n := len(checker.owners) - history; n < 360 {
		t.Errorf("calls and voicemails in 1800 seconds = %d, want at least 360", n)
	}
	live.Next(noon.Add(36*time.Minute), 0)
	if len(live.queue.events) != 0 {
		t.Errorf("events due later than five minutes after their call = %d, want 0", len(live.queue.events))
	}
}
