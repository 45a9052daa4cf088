package sample

import (
	"cmp"
	"runtime"
	"slices"
	"testing"
	"time"

	"callboard/events"
)

func TestQueue(t *testing.T) {
	t.Parallel()
	rng := newRandom(1)
	var q queue
	var want []task
	for range 500 {
		at := events.Time(rng.below(60))
		q.add(at, nil, nil)
		want = append(want, task{at: at, order: q.added})
	}
	slices.SortFunc(want, func(x, y task) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.order, y.order)) })
	for i, w := range want {
		if got, ok := q.next(60); !ok || got.at != w.at || got.order != w.order {
			t.Fatalf("task %d = %d/%d, want %d/%d", i, got.at, got.order, w.at, w.order)
		}
	}
	q.add(7, nil, nil)
	if got, ok := q.next(6); ok {
		t.Errorf("task = %+v, want none before it is due", got)
	}
}

func TestRandom(t *testing.T) {
	t.Parallel()
	rng := newRandom(1, 2, 3)
	var indexes [3]int
	for range 10_000 {
		if n := rng.below(7); n < 0 || n > 6 {
			t.Fatalf("below(7) = %d, want 0 to 6", n)
		}
		if n := rng.between(-3, 3); n < -3 || n > 3 {
			t.Fatalf("between(-3, 3) = %d, want -3 to 3", n)
		}
		if n := rng.logNormal(100); n < 10 || n > 953 {
			t.Fatalf("logNormal(100) = %d, want 10 to 953", n)
		}
		indexes[rng.weighted(1, 0, 9)]++
	}
	if indexes[1] != 0 || indexes[0] < 800 || indexes[0] > 1200 {
		t.Errorf("indexes = %v, want about 1000, 0, 9000", indexes)
	}
	if id := rng.uuid(); id.Version() != 4 || id.Variant().String() != "RFC4122" {
		t.Errorf("UUID = %s, want one of version 4", id)
	}
}

func TestArrivals(t *testing.T) {
	t.Parallel()
	c := New(Config{Seed: 4, Systems: 1, Calls: 3000})
	a := arrivals{calendar: &c.systems[0].calendar, rng: newRandom(1)}
	var last events.Time
	for n := 3000; ; n-- {
		if got := a.remaining(); got != n {
			t.Fatalf("remaining = %d, want %d", got, n)
		}
		at, ok := a.next()
		if !ok {
			break
		}
		if at < max(last, c.from) || at > c.until-minTail {
			t.Fatalf("arrival = %s, want one from %s to %s", at, max(last, c.from), c.until-minTail)
		}
		last = at
	}
	if a.given != 3000 {
		t.Errorf("arrivals = %d, want 3000", a.given)
	}
}

// There are fewer calls at night than in the day, and fewer on Sundays than on Tuesdays.
func TestHistory_OpeningHours(t *testing.T) {
	t.Parallel()
	c := New(Config{Seed: 2, Systems: 6, Calls: 20000})
	calendars := map[string]*calendar{}
	for _, s := range c.systems {
		calendars[s.id.String()] = &s.calendar
	}
	var hours [24]int
	var weekdays [7]int
	for e := range c.History() {
		if call, ok := e.State.(*events.Call); ok && call.Version == 1 {
			local := calendars[call.PhoneSystemID.String()].local(call.CreatedAt)
			hours[local.Hour()]++
			weekdays[local.Weekday()]++
		}
	}
	if hours[3]*10 > hours[10] || hours[22]*5 > hours[15] || hours[12] >= hours[10] {
		t.Errorf("calls by hour = %v, want peaks at 10 and 14", hours)
	}
	if weekdays[time.Sunday]*4 > weekdays[time.Tuesday] || weekdays[time.Saturday] >= weekdays[time.Tuesday] {
		t.Errorf("calls by weekday from Sunday = %v, want most from Monday to Friday", weekdays)
	}
}

func TestHistory_Durations(t *testing.T) {
	t.Parallel()
	var short, medium, long int
	for e := range New(Config{Seed: 2, Calls: 10000}).History() {
		if call, ok := e.State.(*events.Call); ok && call.Outcome == events.Some("answered") && call.Version == 1 {
			switch s := call.Duration.Value; {
			case s < 30:
				short++
			case s < 300:
				medium++
			default:
				long++
			}
			if got := (call.EndTime.Value - call.StartTime.Value) / second; int64(got) != call.Duration.Value {
				t.Fatalf("duration = %d s, want %d s from start to end", call.Duration.Value, got)
			}
		}
	}
	if medium < 4*short || short == 0 || long*3 > medium || long == 0 {
		t.Errorf("calls = %d short, %d medium, %d long, want mostly medium", short, medium, long)
	}
}

// peakHeap is the largest heap while a history is read.
func peakHeap(calls int) uint64 {
	c := New(Config{Seed: 1, Calls: calls})
	var peak uint64
	n := 0
	for range c.History() {
		if n++; n%(calls/8) == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
	}
	return peak
}

// It measures the heap and therefore does not run in parallel.
func TestHistory_Memory(t *testing.T) {
	few, many := peakHeap(5_000), peakHeap(50_000)
	if many > few+few/2 {
		t.Errorf("heap of 50,000 calls = %d kB, want about the %d kB of 5,000", many>>10, few>>10)
	}
}

func noon() time.Time { return time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC) }

// runLive generates events for a number of seconds, with a call every five seconds.
func runLive(t *testing.T, c *Company, seconds int) []events.Event {
	t.Helper()
	var all []events.Event
	live := c.Live()
	for i := range seconds {
		now := noon().Add(time.Duration(i) * time.Second)
		calls := 0
		if i%5 == 0 {
			calls = 1
		}
		for _, e := range live.Next(now, calls) {
			if e.Time.After(now) {
				t.Fatalf("%s: time = %s, want at most %s", e.ID, e.Time, now)
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
	t.Parallel()
	c := New(Config{Seed: 1, Calls: 500})
	checker := newChecker(t)
	for e := range c.Events() {
		checker.check(e)
	}
	before := len(checker.owners)
	first := runLive(t, c, 1800)
	for _, e := range first {
		checker.check(e)
	}
	if n := len(checker.owners) - before; n < 360 {
		t.Errorf("calls and voicemails in 1800 seconds = %d, want at least 360", n)
	}
	second := runLive(t, c, 1800)
	if last := len(first) - 1; len(second) != len(first) || second[last].ID != first[last].ID {
		t.Error("a second run has other events")
	}
}

func TestLive_CallsEndNow(t *testing.T) {
	t.Parallel()
	live := New(Config{Seed: 1}).Live()
	found := 0
	for i := range 50 {
		now := noon().Add(time.Duration(i) * time.Minute)
		for _, e := range live.Next(now, 1) {
			call, ok := e.State.(*events.Call)
			if ok && call.Version == 1 && now.Sub(call.EndTime.Value.Std()) <= 5*time.Second {
				found++
			}
		}
	}
	// A call whose analysis is published first comes later.
	if found < 40 {
		t.Errorf("calls that end now = %d of 50, want at least 40", found)
	}
	if due := live.Next(noon().Add(24*time.Hour), 0); len(due) == 0 {
		t.Error("events a day later = 0, want some")
	}
	if rest := live.Next(noon().Add(48*time.Hour), 0); len(rest) != 0 || len(live.queue.tasks) != 0 {
		t.Errorf("two days later: events = %d, tasks = %d, want none", len(rest), len(live.queue.tasks))
	}
}

func BenchmarkHistory(b *testing.B) {
	b.ReportAllocs()
	n := 0
	for range New(Config{Seed: 1, Systems: 20, Calls: b.N}).History() {
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(n)/float64(b.N), "events/call")
}
