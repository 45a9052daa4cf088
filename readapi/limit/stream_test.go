package limit

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/eventstest"
)

// What is made ahead of the readers is what they look for.
func TestStreamConfigs_AreThoseOfALimiter(t *testing.T) {
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	for premium, names := range map[int][]string{
		50:                {"LIMITS_120_120", "LIMITS_50_120"},
		StandardPerMinute: {"LIMITS_120_120"},
		600:               {"LIMITS_120_120", "LIMITS_600_120"},
	} {
		l, err := New(Config{JetStream: js, Report: ReportPerMinute, Standard: StandardPerMinute, Premium: premium})
		if err != nil {
			t.Fatal(err)
		}
		configs, err := StreamConfigs(premium, 3)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range configs {
			got = append(got, c.Name)
			ledgers := []*ledger{l.standard, l.premium}
			i := slices.IndexFunc(ledgers, func(g *ledger) bool { return g.stream.Name == c.Name })
			if i < 0 || CheckStream(c, ledgers[i].stream) != nil || c.Replicas != 3 {
				t.Errorf("%d: %+v", premium, c)
			}
		}
		if !slices.Equal(got, names) {
			t.Errorf("%d: %v, want %v", premium, got, names)
		}
	}
	if _, err := StreamConfigs(MaxPerMinute+1, 1); err == nil {
		t.Error("more than can be metered")
	}
}

func TestCheckStream(t *testing.T) {
	configs, err := StreamConfigs(600, 1)
	if err != nil {
		t.Fatal(err)
	}
	wanted := configs[1]
	for name, c := range map[string]struct {
		change func(*jetstream.StreamConfig)
		counts bool
	}{
		"replicas":          {func(c *jetstream.StreamConfig) { c.Replicas = 5 }, true},
		"storage":           {func(c *jetstream.StreamConfig) { c.Storage = jetstream.FileStorage }, true},
		"description":       {func(c *jetstream.StreamConfig) { c.Description = "ours" }, true},
		"a longer log":      {func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, false},
		"more permits":      {func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject++ }, false},
		"old give way":      {func(c *jetstream.StreamConfig) { c.DiscardNewPerSubject = false }, false},
		"no batches":        {func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false }, false},
		"no enquiries":      {func(c *jetstream.StreamConfig) { c.AllowDirect = false }, false},
		"nobody's interest": {func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy }, false},
		"elsewhere": {func(c *jetstream.StreamConfig) {
			c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: ">", Destination: "x.>"}
		}, false},
		"of others": {func(c *jetstream.StreamConfig) { c.Subjects = []string{"callboard.limits.>"} }, false},
	} {
		running := wanted
		c.change(&running)
		if err := CheckStream(running, wanted); (err == nil) != c.counts {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The heaviest permit that the settings allow is one that the server takes.
func TestTake_TheLargestAllowance(t *testing.T) {
	l := run(t, eventstest.NewServer(t).URL(), func(c *Config) { c.Premium = MaxPerMinute })
	if given := took(t, l, Request{Lineage: uuid.New(), Premium: true, Report: listReports}, 121); given != 120 {
		t.Errorf("%d given", given)
	}
}
