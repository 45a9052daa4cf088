package limit

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/eventstest"
)

// The streams that an operator creates are those that limiters use.
func TestStreamConfigs_MatchLimiters(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	for premium, names := range map[int][]string{
		50:                {"LIMITS_120_120", "LIMITS_50_120"},
		StandardPerMinute: {"LIMITS_120_120"},
		600:               {"LIMITS_120_120", "LIMITS_600_120"},
	} {
		l := newLimiter(t, js, func(c *Config) { c.Premium = premium })
		configs, err := StreamConfigs(premium, 3)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range configs {
			got = append(got, c.Name)
			streams := []*tierStream{l.standard, l.premium}
			i := slices.IndexFunc(streams, func(s *tierStream) bool { return s.config.Name == c.Name })
			if i < 0 || CheckStream(c, streams[i].config) != nil || c.Replicas != 3 {
				t.Errorf("premium = %d: stream = %+v, want one of the limiter's with 3 replicas", premium, c)
			}
		}
		if !slices.Equal(got, names) {
			t.Errorf("premium = %d: streams = %v, want %v", premium, got, names)
		}
	}
	if _, err := StreamConfigs(MaxPerMinute+1, 1); err == nil {
		t.Error("error = nil above MaxPerMinute")
	}
}

func TestCheckStream(t *testing.T) {
	t.Parallel()
	configs, err := StreamConfigs(600, 1)
	if err != nil {
		t.Fatal(err)
	}
	wanted := configs[1]
	for name, c := range map[string]struct {
		change func(*jetstream.StreamConfig)
		counts bool
	}{
		"replicas":           {func(c *jetstream.StreamConfig) { c.Replicas = 5 }, true},
		"storage":            {func(c *jetstream.StreamConfig) { c.Storage = jetstream.FileStorage }, true},
		"description":        {func(c *jetstream.StreamConfig) { c.Description = "ours" }, true},
		"longer window":      {func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, false},
		"more permits":       {func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject++ }, false},
		"discard old":        {func(c *jetstream.StreamConfig) { c.DiscardNewPerSubject = false }, false},
		"no batches":         {func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false }, false},
		"no direct reads":    {func(c *jetstream.StreamConfig) { c.AllowDirect = false }, false},
		"interest retention": {func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy }, false},
		"subject transform": {func(c *jetstream.StreamConfig) {
			c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: ">", Destination: "x.>"}
		}, false},
		"other subjects": {func(c *jetstream.StreamConfig) { c.Subjects = []string{"callboard.limits.>"} }, false},
	} {
		running := wanted
		c.change(&running)
		if err := CheckStream(running, wanted); (err == nil) != c.counts {
			t.Errorf("%s: error = %v, counts permits: %t", name, err, c.counts)
		}
	}
}

// The server accepts the largest permit that the settings allow.
func TestTake_LargestAllowance(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL(), func(c *Config) { c.Premium = MaxPerMinute })
	if got := countAllowed(t, l, Request{Lineage: uuid.New(), Premium: true, Report: listReports}, 121); got != 120 {
		t.Errorf("allowed = %d, want 120", got)
	}
}

// The server's clock is an hour ahead, which does not change when a permit returns.
func TestTierStream_ExpiryByServerClock(t *testing.T) {
	t.Parallel()
	s := newLimiter(t, eventstest.JetStream(t, eventstest.NewServer(t).URL())).standard
	now := time.Now()
	s.clock.Store(&clock{server: now.Add(time.Hour), local: now})
	if got, want := s.expiry(now.Add(time.Hour-30*time.Second)), now.Add(30*time.Second+expiryLag); !got.Equal(want) {
		t.Errorf("expiry in %s, want in %s", got.Sub(now), want.Sub(now))
	}
	if got := s.expiry(now.Add(2 * time.Hour)); got.Sub(now) > time.Minute+patience {
		t.Errorf("expiry in %s, want in a minute at most", got.Sub(now))
	}
	if err := s.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if offset := time.Until(s.clock.Load().toLocal(time.Now())).Abs(); offset > ensureTimeout {
		t.Errorf("clock offset = %s on one machine", offset)
	}
}

// A subject holds too many messages if the stream's limit was reduced.
func TestTierStream_QuotaIsNeverNegative(t *testing.T) {
	t.Parallel()
	s := newLimiter(t, eventstest.JetStream(t, eventstest.NewServer(t).URL())).standard
	m := &nats.Msg{Header: nats.Header{
		"Nats-Num-Pending": {"200"}, "Nats-Time-Stamp": {time.Now().UTC().Format(time.RFC3339Nano)},
	}}
	if q, ok := s.parseQuota(s.buckets(Request{})[0], m); !ok || q.remaining != 0 {
		t.Errorf("remaining = %d, parsed = %t, want 0", q.remaining, ok)
	}
}

func TestComputeWeights_ExactForEveryAllowance(t *testing.T) {
	t.Parallel()
	const report = 120
	for tier := 1; tier <= 20000; tier++ {
		w, err := computeWeights(tier, report)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.size / w.tier; got != tier {
			t.Fatalf("tier = %d: %+v holds %d permits of the tier", tier, w, got)
		}
		if got, want := w.size/w.report, min(tier, report); got != want {
			t.Fatalf("tier = %d: %+v holds %d permits of a report operation, want %d", tier, w, got, want)
		}
		if w.tier+w.report > maxBatch {
			t.Fatalf("tier = %d: %+v does not fit into a batch", tier, w)
		}
	}
}

// findSmaller searches all smaller weights that hold the same numbers of permits.
func findSmaller(w weights, tier, report int) (weights, bool) {
	for tierWeight := 1; tierWeight <= w.tier; tierWeight++ {
		for reportWeight := 1; tierWeight < w.tier || reportWeight < w.report; reportWeight++ {
			if tier*tierWeight >= (report+1)*reportWeight+tierWeight+reportWeight { // far too small
				continue
			}
			for size := tier * tierWeight; size < (tier+1)*tierWeight; size++ {
				if size/reportWeight == report {
					return weights{size, tierWeight, reportWeight}, true
				}
			}
			if reportWeight > tier*tierWeight {
				break
			}
		}
	}
	return weights{}, false
}

func TestComputeWeights_Smallest(t *testing.T) {
	t.Parallel()
	for report := 1; report <= 12; report++ {
		for tier := report + 1; tier <= 60; tier++ {
			w, err := computeWeights(tier, report)
			if err != nil {
				t.Fatal(err)
			}
			if smaller, found := findSmaller(w, tier, report); found {
				t.Errorf("tier = %d, report = %d: weights = %+v, want %+v", tier, report, w, smaller)
			}
		}
	}
}

func TestComputeWeights_Examples(t *testing.T) {
	t.Parallel()
	for tier, want := range map[int]weights{
		60:   {60, 1, 1},
		120:  {120, 1, 1},
		121:  {7440, 61, 62},
		600:  {600, 1, 5},
		1000: {3000, 3, 25},
	} {
		if w, err := computeWeights(tier, 120); err != nil || w != want {
			t.Errorf("tier = %d: weights = %+v, error = %v, want %+v", tier, w, err, want)
		}
	}
}

func TestComputeWeights_RefusesTooLargePermits(t *testing.T) {
	t.Parallel()
	if w, err := computeWeights(MaxPerMinute, ReportPerMinute); err != nil || w.tier+w.report != maxBatch {
		t.Errorf("weights = %+v, error = %v, want permits that fill a batch", w, err)
	}
	for _, tier := range []int{MaxPerMinute + 1, 1_000_000} {
		if w, err := computeWeights(tier, ReportPerMinute); err == nil {
			t.Errorf("tier = %d: weights = %+v, want an error", tier, w)
		}
	}
}
