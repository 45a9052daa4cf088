package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"callboard/cmd/setting"
	"callboard/events"
	"callboard/events/audit"
	"callboard/events/eventstest"
	"callboard/events/journal"
	"callboard/readapi/limit"
)

// parsed parses a command's arguments with an empty environment.
func parsed[T any](t *testing.T, args ...string) *T {
	t.Helper()
	var program struct {
		Command T `cmd:"" name:"command"`
	}
	args = append([]string{"command"}, args...)
	if _, err := setting.Parse(&program, setting.Source{Args: args, Getenv: func(string) string { return "" }, Out: t.Output()}); err != nil {
		t.Fatal(err)
	}
	return &program.Command
}

func newCreate(t *testing.T, args ...string) *streamCreateCommand {
	t.Helper()
	return parsed[streamCreateCommand](t, append([]string{"--nats-url", "nats://unused", "--partitions", "4"}, args...)...)
}

func checkUnsafe(t *testing.T, js jetstream.JetStream, want ...string) {
	t.Helper()
	found, err := parsed[streamCheckCommand](t, "--nats-url", "nats://unused").check(context.Background(), js)
	if err != nil || len(found.Unsafe) != len(want) {
		t.Fatalf("unsafe = %q, error = %v, want %q", found.Unsafe, err, want)
	}
	for i := range want {
		if !strings.Contains(found.Unsafe[i], want[i]) {
			t.Errorf("unsafe[%d] = %q, want it to contain %q", i, found.Unsafe[i], want[i])
		}
	}
}

func TestStreamCreate(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	created, err := newCreate(t).create(t.Context(), js)
	if want := (createdStreams{Stream: true, Bucket: true, Keys: true, Audit: true, Limits: true}); err != nil || created != want {
		t.Fatalf("created = %+v, error = %v, want %+v", created, err, want)
	}
	created, err = newCreate(t).create(t.Context(), js)
	if want := (createdStreams{}); err != nil || created != want {
		t.Errorf("second run: created = %+v, error = %v, want %+v", created, err, want)
	}
	checkUnsafe(t, js)
}

func TestStreamCreate_TwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	runs, ctx := errgroup.WithContext(t.Context())
	for range 2 {
		create := newCreate(t)
		runs.Go(func() error {
			_, err := create.create(ctx, js)
			return err
		})
	}
	if err := runs.Wait(); err != nil {
		t.Error(err)
	}
}

func TestStreamCreate_ExistsWithOtherSettings(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	if _, err := newCreate(t).create(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "PLAIN", Subjects: []string{"plain"}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ flag, want string }{
		{"--partitions=8", "with 4 partitions, not 8"},
		{"--replicas=3", "with 1 replicas, not 3"},
		{"--stream=PLAIN", "no subject transform"},
	} {
		if _, err := newCreate(t, c.flag).create(t.Context(), js); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want it to contain %q", c.flag, err, c.want)
		}
	}
}

func TestStreamCheck(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	unsafe := events.StreamConfig("PHONES", 4, 1)
	unsafe.MaxAge = time.Hour
	if _, err := js.CreateStream(t.Context(), unsafe); err != nil {
		t.Fatal(err)
	}
	checkUnsafe(t, js, "max_age is set", "bucket PHONE_TRANSCRIPTS is missing", "stream KEYS is missing", "stream AUDIT_LOG is missing")
	keys := journal.StreamConfig(1)
	keys.MaxAge = 3 * time.Hour
	if _, err := js.CreateStream(t.Context(), keys); err != nil {
		t.Fatal(err)
	}
	bucket := events.BucketConfig(1)
	bucket.TTL, bucket.Storage, bucket.MaxBytes = time.Hour, jetstream.MemoryStorage, 1<<20
	if _, err := js.CreateObjectStore(t.Context(), bucket); err != nil {
		t.Fatal(err)
	}
	auditStream := audit.StreamConfig(1)
	auditStream.MaxAge = 2 * time.Hour
	if _, err := js.CreateStream(t.Context(), auditStream); err != nil {
		t.Fatal(err)
	}
	others := []string{
		"max_age is set", "deletes objects after 1h0m0s", "not stored in files", "has max_bytes set",
		"stream KEYS drops messages after 3h0m0s", "stream AUDIT_LOG drops messages after 2h0m0s",
	}
	checkUnsafe(t, js, others...)
	limits := limit.StreamConfig(1)
	limits.AllowDirect = true
	if _, err := js.CreateStream(t.Context(), limits); err != nil {
		t.Fatal(err)
	}
	checkUnsafe(t, js, append(others, "stream LIMITS makes readers refuse reports")...)
}

// startLimiter runs a reader's limiter and returns a function that tells whether it allows a report.
func startLimiter(t *testing.T, js jetstream.JetStream) (allowed func() bool) {
	t.Helper()
	l, err := limit.New(limit.Config{
		JetStream: js, Report: limit.ReportPerMinute, Standard: limit.StandardPerMinute, Premium: 600, Log: zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	eventstest.Run(t, l.Run)
	return func() bool { return l.Take(t.Context(), limit.Request{Lineage: uuid.New(), Report: "report"}).Allowed }
}

// With three replicas of the limiter's stream, reports are allowed although one server is stopped.
func TestStreamCreate_Cluster(t *testing.T) {
	t.Parallel()
	cluster := eventstest.NewCluster(t)
	js := eventstest.JetStream(t, cluster.URL())
	byReader := limit.StreamConfig(1)
	eventstest.Eventually(t, "a reader has created its stream", func() bool {
		_, err := js.CreateStream(t.Context(), byReader)
		return err == nil
	})
	create := newCreate(t, "--replicas", "3")
	eventstest.Eventually(t, "the other streams are created", func() bool {
		created, err := create.create(t.Context(), js)
		return err == nil && !created.Limits
	})
	checkUnsafe(t, js, "stream LIMITS has 1 replicas, PHONES has 3")
	replicated := byReader
	replicated.Replicas = 3
	eventstest.Eventually(t, "the reader's stream has three replicas", func() bool {
		_, err := js.UpdateStream(t.Context(), replicated)
		return err == nil
	})
	check := parsed[streamCheckCommand](t, "--nats-url", "nats://unused")
	eventstest.Eventually(t, "nothing is unsafe", func() bool {
		found, err := check.check(t.Context(), js)
		return err == nil && len(found.Unsafe) == 0
	})
	allowed := startLimiter(t, js)
	eventstest.Eventually(t, "a report is allowed", allowed)
	var leader string
	eventstest.Eventually(t, "the replicas have what the leader has", func() bool {
		stream, err := js.Stream(t.Context(), limit.StreamName)
		if err != nil {
			return false
		}
		info := stream.CachedInfo().Cluster
		leader = info.Leader
		return leader != "" && info.Desired == nil && len(info.Replicas) == 2 &&
			!slices.ContainsFunc(info.Replicas, func(r *jetstream.PeerInfo) bool { return !r.Current || r.Lag > 0 })
	})
	cluster.Server(leader).Stop()
	eventstest.Eventually(t, "a report is allowed without the leader of the stream", allowed)
}
