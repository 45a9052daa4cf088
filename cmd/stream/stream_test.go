package stream_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"callboard/cmd/stream"
	"callboard/events"
	"callboard/events/audit"
	"callboard/events/eventstest"
	"callboard/readapi/limit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func wanted() stream.Wanted {
	return stream.Wanted{Name: "PHONES", Partitions: 4, Replicas: 1, Premium: 600}
}

func TestCreate(t *testing.T) {
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	made, err := stream.Create(t.Context(), js, wanted())
	limits := map[string]bool{"LIMITS_120_120": true, "LIMITS_600_120": true}
	if want := (stream.Made{Stream: true, Bucket: true, Audit: true, Limits: limits}); err != nil || !reflect.DeepEqual(made, want) {
		t.Fatalf("%+v, %v", made, err)
	}
	for name := range limits {
		limits[name] = false
	}
	made, err = stream.Create(t.Context(), js, wanted())
	if want := (stream.Made{Limits: limits}); err != nil || !reflect.DeepEqual(made, want) {
		t.Errorf("the second time: %+v, %v", made, err)
	}
	if faults, err := stream.Check(t.Context(), js, "PHONES", 600); err != nil || len(faults) > 0 {
		t.Errorf("unsafe: %v, %v", faults, err)
	}
}

func TestCreate_TwoAtOnce(t *testing.T) {
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	both, ctx := errgroup.WithContext(t.Context())
	for range 2 {
		both.Go(func() error {
			_, err := stream.Create(ctx, js, wanted())
			return err
		})
	}
	if err := both.Wait(); err != nil {
		t.Errorf("%v", err)
	}
}

func TestCreate_OtherSettings(t *testing.T) {
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	if _, err := stream.Create(t.Context(), js, wanted()); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "PLAIN", Subjects: []string{"plain"}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*stream.Wanted)
		says   string
	}{
		{"partitions", func(w *stream.Wanted) { w.Partitions = 8 }, "with 4 partitions, not 8"},
		{"replicas", func(w *stream.Wanted) { w.Replicas = 3 }, "with 1 replicas, not 3"},
		{"no transform", func(w *stream.Wanted) { w.Name = "PLAIN" }, "no subject transform"},
	} {
		w := wanted()
		c.change(&w)
		if _, err := stream.Create(t.Context(), js, w); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestCheck(t *testing.T) {
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	if _, err := stream.Check(t.Context(), js, "PHONES", 600); err == nil || !strings.Contains(err.Error(), "callboard stream create") {
		t.Errorf("no stream: %v", err)
	}
	unsafe := events.StreamConfig("PHONES", 4, 1)
	unsafe.MaxAge = time.Hour
	if _, err := js.CreateStream(t.Context(), unsafe); err != nil {
		t.Fatal(err)
	}
	says(t, js, "max_age is set", "bucket PHONE_TRANSCRIPTS is missing", "stream AUDIT is missing")
	bucket := events.BucketConfig(1)
	bucket.TTL, bucket.Storage = time.Hour, jetstream.MemoryStorage
	if _, err := js.CreateObjectStore(t.Context(), bucket); err != nil {
		t.Fatal(err)
	}
	trail := audit.StreamConfig(1)
	trail.MaxAge = 2 * time.Hour
	if _, err := js.CreateStream(t.Context(), trail); err != nil {
		t.Fatal(err)
	}
	says(t, js, "max_age is set", "forgets after 1h0m0s", "not in files", "AUDIT forgets after 2h0m0s")
	limits, err := limit.StreamConfigs(600, 1)
	if err != nil {
		t.Fatal(err)
	}
	limits[1].MaxMsgsPerSubject = 1000
	for _, c := range limits {
		if _, err := js.CreateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	says(t, js, "max_age is set", "forgets after 1h0m0s", "not in files", "AUDIT forgets after 2h0m0s",
		"LIMITS_600_120 makes readers refuse reports: its settings are not those of a limiter; delete it")
}

func says(t *testing.T, js jetstream.JetStream, wants ...string) {
	t.Helper()
	faults, err := stream.Check(context.Background(), js, "PHONES", 600)
	if err != nil || len(faults) != len(wants) {
		t.Fatalf("%q, %v; want %q", faults, err, wants)
	}
	for i, want := range wants {
		if !strings.Contains(faults[i], want) {
			t.Errorf("%q, want %q", faults[i], want)
		}
	}
}
