package limit

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const minute tick = 600

var tierOf3 = []bucket{{policy: tierPolicy, name: tierPolicy, limit: 3}} //nolint:gochecknoglobals // constant

// A permit returns a minute and a tick after the tick in which it was taken.
func TestLog_PermitReturns(t *testing.T) {
	t.Parallel()
	var l permitLog
	for i := range 4 {
		l.begin(tick(1000+i), writer{})
		if got, want := l.take(tierOf3), i < 3; got != want {
			t.Errorf("permit %d: taken = %t, want %t", i, got, want)
		}
	}
	if q, want := l.quota(tierOf3[0], 1003, minute), (quota{tierPolicy, 0, (minute - 2).duration()}); q != want {
		t.Errorf("quota = %+v, want %+v", q, want)
	}
	for at, want := range map[tick]bool{1000 + minute: false, 1001 + minute: true} {
		later := l.clone()
		later.expire(at, minute)
		later.begin(at, writer{})
		if got := later.take(tierOf3); got != want {
			t.Errorf("at tick %d: taken = %t, want %t", at, got, want)
		}
	}
}

func TestLog_TakesFromAllBucketsOrNone(t *testing.T) {
	t.Parallel()
	both := append([]bucket{{policy: reportPolicy, name: listReports, limit: 1}}, tierOf3...)
	var l permitLog
	l.begin(1000, writer{})
	if !l.take(both) || l.take(both) {
		t.Error("want the first report taken, the second not")
	}
	if got := l.bucket(tierPolicy).total; got != 1 {
		t.Errorf("permits of the tier = %d, want 1", got)
	}
}

// A log that is dated later than the server stored it counts no permit from a later tick.
func TestLog_DatedInTheFuture(t *testing.T) {
	t.Parallel()
	for ahead, plausible := range map[tick]bool{0: true, maxAhead: true, maxAhead + 1: false, 36000: false} {
		var l permitLog
		l.begin(900, writer{})
		l.take(tierOf3)
		l.begin(1000+ahead, writer{})
		l.take(tierOf3)
		if got := l.setStoredTick(1000); got != plausible {
			t.Errorf("%d ticks ahead: plausible = %t, want %t", ahead, got, plausible)
		}
		want := []permits{{900, 1}, {1000 + ahead, 1}}
		if !plausible {
			want[1].at = 1000
		}
		if got := l.bucket(tierPolicy); !slices.Equal(got.permits, want) || got.total != 2 || l.newest != want[1].at {
			t.Errorf("%d ticks ahead: permits = %+v, newest = %d, want %+v", ahead, got, l.newest, want)
		}
	}
}

// Only the permits of the last write are counted from when it was stored: others of the same tick were stored before.
func TestLog_FreshPermitsMove(t *testing.T) {
	t.Parallel()
	var l permitLog
	l.begin(1000, writer{})
	l.take(tierOf3)
	l.begin(1000, writer{})
	l.take(tierOf3)
	l.setStoredTick(1020)
	if got, want := l.bucket(tierPolicy).permits, []permits{{1000, 1}, {1020, 1}}; !slices.Equal(got, want) {
		t.Errorf("permits = %v, want %v", got, want)
	}
}

func TestLog_GiveBack(t *testing.T) {
	t.Parallel()
	log := func(list ...permits) permitLog {
		l := permitLog{buckets: []bucketLog{{name: tierPolicy}}}
		for _, p := range list {
			l.buckets[0].add(p.at, p.count)
		}
		return l
	}
	for at, want := range map[tick][]permits{
		5:  {{10, 1}, {20, 1}},
		10: {{10, 1}, {20, 1}},
		19: {{10, 1}, {20, 1}},
		25: {{10, 2}},
	} {
		l := log(permits{10, 2}, permits{20, 1})
		l.giveBack(tierPolicy, at)
		if got := l.buckets[0]; !slices.Equal(got.permits, want) || got.total != 2 {
			t.Errorf("given back at %d: permits = %+v, want %v", at, got, want)
		}
	}
	empty := log()
	empty.giveBack("nothing", 1)
}

func TestLog_RemembersLastWriters(t *testing.T) {
	t.Parallel()
	var l permitLog
	for reader := range uint64(maxWriters + 1) {
		l.begin(1, writer{reader, 1})
		l.begin(1, writer{reader, 2})
	}
	if len(l.writers) != maxWriters || l.wrote(writer{0, 2}) || l.wrote(writer{1, 1}) || !l.wrote(writer{1, 2}) {
		t.Errorf("writers = %v, want the last write of each but the first", l.writers)
	}
}

// drawLog draws any valid log.
func drawLog(t *rapid.T) permitLog {
	l := permitLog{
		origin: rapid.Uint64().Draw(t, "origin"),
		newest: tick(rapid.Int64Range(1_000_000, maxTick/2).Draw(t, "newest")),
	}
	for range rapid.IntRange(0, maxWriters).Draw(t, "writers") {
		l.writers = append(l.writers, writer{rapid.Uint64().Draw(t, "reader"), rapid.Uint64Range(0, maxNumber).Draw(t, "number")})
	}
	for _, name := range []string{"", "a", listReports, tierPolicy} {
		if rapid.Bool().Draw(t, "has "+name) {
			l.buckets = append(l.buckets, drawBucket(t, name, l.newest))
		}
	}
	return l
}

func drawBucket(t *rapid.T, name string, newest tick) bucketLog {
	b := bucketLog{name: name}
	ages := rapid.SliceOfNDistinct(rapid.Int64Range(0, 700), 1, 40, rapid.ID).Draw(t, "ages")
	slices.Sort(ages)
	for _, age := range slices.Backward(ages) {
		b.add(newest-tick(age), rapid.IntRange(1, 1000).Draw(t, "count"))
	}
	if last := b.permits[len(b.permits)-1]; last.at == newest {
		b.fresh = rapid.IntRange(0, last.count).Draw(t, "fresh")
	}
	return b
}

func TestEncoding_RoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := drawLog(t)
		encoded := l.encode()
		parsed, err := parseLog(encoded)
		if err != nil || fmt.Sprint(parsed) != fmt.Sprint(l) {
			t.Errorf("parsed = %+v, %v, want %+v", parsed, err, l)
		}
		for n := range encoded {
			if _, err := parseLog(encoded[:n]); !errors.Is(err, errMalformed) {
				t.Errorf("the first %d bytes: error = %v, want %v", n, err, errMalformed)
			}
		}
		if _, err := parseLog(append(encoded, 0)); !errors.Is(err, errMalformed) {
			t.Errorf("one byte more: error = %v, want %v", err, errMalformed)
		}
	})
}

// A log of any allowance is small: at most a permit count per tick of the window for each budget.
func TestEncoding_Size(t *testing.T) {
	t.Parallel()
	l := permitLog{newest: tickAt(time.Now())}
	for _, name := range []string{dimensions, listReports, tierPolicy} {
		b := bucketLog{name: name}
		for i := -minute; i <= 0; i++ {
			b.add(l.newest+i, 200)
		}
		l.buckets = append(l.buckets, b)
	}
	if got := len(l.encode()); got > 6000 {
		t.Errorf("size = %d bytes, want at most 6000", got)
	}
}

// since counts the permits from a tick on.
func (b *bucketLog) since(at tick) (n int) {
	for _, p := range b.permits {
		if p.at >= at {
			n += p.count
		}
	}
	return n
}

// A merged log has in every window that ends now as many permits as the one that has more of them, and no more than that.
func TestMerge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawBucket(t, tierPolicy, 5000), drawBucket(t, tierPolicy, 5000)
		merged := mergeBuckets(a, b)
		for at := tick(4200); at <= 5000; at++ {
			if got, want := merged.since(at), max(a.since(at), b.since(at)); got != want {
				t.Fatalf("permits since %d = %d, want %d\na = %v\nb = %v\nmerged = %v", at, got, want, a, b, merged)
			}
		}
		if merged.total != merged.since(0) || !slices.IsSortedFunc(merged.permits, func(p, q permits) int { return int(p.at - q.at) }) {
			t.Errorf("merged = %v, want its total and ascending ticks", merged)
		}
	})
}

// Whatever is done to a log, it can be read again, and its totals are those of its permits.
func TestLog_StaysValid(t *testing.T) {
	t.Parallel()
	buckets := append([]bucket{{policy: reportPolicy, name: listReports, limit: 5}}, tierOf3...)
	rapid.Check(t, func(t *rapid.T) {
		l := permitLog{newest: 5000}
		tickOf := func(label string) tick { return l.newest + tick(rapid.IntRange(-50, 50).Draw(t, label)) }
		t.Repeat(map[string]func(*rapid.T){
			"begin":         func(*rapid.T) { l.begin(tickOf("begin"), writer{1, 1}) },
			"take":          func(t *rapid.T) { l.take(buckets[rapid.IntRange(0, 1).Draw(t, "from"):]) },
			"giveBack":      func(*rapid.T) { l.begin(0, writer{1, 1}); l.giveBack(tierPolicy, tickOf("given back")) },
			"setStoredTick": func(*rapid.T) { l.setStoredTick(tickOf("stored")) },
			"expire":        func(*rapid.T) { l.setStoredTick(l.newest); l.expire(tickOf("now"), 60) },
			"merge":         func(t *rapid.T) { other := drawLog(t); other.newest = max(other.newest, l.newest); l.merge(&other) },
			"": func(t *rapid.T) {
				if _, err := parseLog(l.encode()); err != nil {
					t.Fatalf("%+v: %v", l, err)
				}
				for _, b := range l.buckets {
					if b.total != b.since(0) {
						t.Fatalf("%s: total = %d, want %d", b.name, b.total, b.since(0))
					}
				}
			},
		})
	})
}

// serverModel is a server that stores versions, and readers that estimate its time.
type serverModel struct {
	now     time.Time // the server's
	log     permitLog
	stored  tick
	permits []time.Time // when each permit was stored
}

// TestLog_ExactWindow lets readers take permits whose writes arrive late, with estimates that lag behind the server's time by different
// amounts. At no time have more permits been stored within a minute than the limit. A permit is back in time.
func TestLog_ExactWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const longestFlight, error = 3000, 150 // ms
		s := serverModel{now: time.UnixMilli(1_000_000_000)}
		readers := make([]permitLog, 3)
		for range rapid.IntRange(1, 60).Draw(t, "writes") {
			s.now = s.now.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(t, "pause")) * time.Millisecond)
			reader := &readers[rapid.IntRange(0, len(readers)-1).Draw(t, "reader")]
			*reader = s.log.clone()
			reader.setStoredTick(s.stored)
			estimate := s.now.Add(-time.Duration(rapid.IntRange(0, error).Draw(t, "estimate's error")) * time.Millisecond)
			reader.expire(tickAt(estimate), minute)
			reader.begin(tickAt(estimate), writer{})
			taken := 0
			for range rapid.IntRange(1, 4).Draw(t, "requests") {
				if reader.take(tierOf3) {
					taken++
				} else if got := s.within(time.Minute+(300+error)*time.Millisecond) + taken; got < tierOf3[0].limit {
					t.Fatalf("refused, although only %d permits were taken lately", got)
				}
			}
			s.now = s.now.Add(time.Duration(rapid.IntRange(0, longestFlight).Draw(t, "flight")) * time.Millisecond)
			s.log, s.stored = reader.clone(), tickAt(s.now)
			for range taken {
				s.permits = append(s.permits, s.now)
			}
			if got := s.within(time.Minute); got > tierOf3[0].limit {
				t.Fatalf("permits within a minute = %d, want %d at most", got, tierOf3[0].limit)
			}
		}
	})
}

// within counts the permits that were stored within the last d, or are taken now.
func (s *serverModel) within(d time.Duration) (n int) {
	for _, at := range s.permits {
		if s.now.Sub(at) < d {
			n++
		}
	}
	return n
}
