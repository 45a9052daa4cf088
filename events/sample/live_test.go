package sample

import (
	"testing"
	"time"

	"callboard/events"
)

func noon() time.Time { return time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC) }

// run lets a company work for so many seconds, with a call every fifth.
func run(t *testing.T, c *Company, seconds int) []events.Event {
	t.Helper()
	var all []events.Event
	live := c.Live()
	for i := range seconds {
		now := noon().Add(time.Duration(i) * time.Second)
		n := 0
		if i%5 == 0 {
			n = 1
		}
		for _, e := range live.Next(now, n) {
			if e.Time.After(now) {
				t.Fatalf("%s is of %s, after %s", e.ID, e.Time, now)
			}
			if _, err := events.Encode(e); err != nil {
				t.Fatalf("%s: %v", e.ID, err)
			}
			all = append(all, e)
		}
	}
	return all
}

func TestLive(t *testing.T) {
	c := New(Config{Seed: 1, Calls: 500})
	a := newAudit(t)
	stream(c, a.see)
	before := len(a.calls)
	all := run(t, c, 1800)
	for _, e := range all {
		a.see(e)
	}
	if calls := len(a.calls) - before; calls < 360 {
		t.Errorf("%d calls and voicemails in 1800 seconds", calls)
	}
	if again := run(t, c, 1800); len(again) != len(all) || again[len(all)-1].ID != all[len(all)-1].ID {
		t.Error("a second run differs")
	}
}

// A call that ends now is published now.
func TestLive_AtOnce(t *testing.T) {
	live := New(Config{Seed: 1}).Live()
	for i := range 50 {
		now := noon().Add(time.Duration(i) * time.Minute)
		late := now.Add(-5 * time.Second)
		found := false
		for _, e := range live.Next(now, 1) {
			if call, ok := e.State.(*events.Call); ok && call.Version == 1 && !call.EndTime.Value.Std().Before(late) {
				found = true
			}
		}
		// A call whose analysis comes first is the exception.
		if !found && i == 0 {
			t.Errorf("no call at %s", now)
		}
	}
	if due := live.Next(noon().Add(24*time.Hour), 0); len(due) == 0 {
		t.Error("nothing was left to happen")
	}
	if rest := live.Next(noon().Add(48*time.Hour), 0); len(rest) != 0 || len(live.agenda.entries) != 0 {
		t.Errorf("%d events, %d entries a day later", len(rest), len(live.agenda.entries))
	}
}
