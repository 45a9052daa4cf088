package main

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/internal/run/setting"
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

// create runs 'stream create' with four partitions, or as further flags say.
func create(t *testing.T, js jetstream.JetStream, flags ...string) (created createdStreams, err error) {
	t.Helper()
	c := parsed[streamCreateCommand](t, append([]string{"--nats-url", "nats://unused", "--partitions", "4"}, flags...)...)
	err = c.create(t.Context(), js, &created)
	return created, err
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
	created, err := create(t, js)
	all := []string{"PHONES", "PHONE_TRANSCRIPTS", "KEYS", "AUDIT_LOG", "LIMITS"}
	if want := (createdStreams{Created: all}); err != nil || !reflect.DeepEqual(created, want) {
		t.Fatalf("created = %+v, error = %v, want %+v", created, err, want)
	}
	created, err = create(t, js)
	if want := (createdStreams{}); err != nil || !reflect.DeepEqual(created, want) {
		t.Errorf("second run: created = %+v, error = %v, want %+v", created, err, want)
	}
	checkUnsafe(t, js)
}

// A stream without an identity is unsafe, and gets one, without another change.
func TestStreamCreate_AddsTheIdentity(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	config := events.StreamConfig(events.StreamName, 4, 1)
	config.Metadata = map[string]string{"owner": "telephony"}
	if _, err := js.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	checkUnsafe(t, js, "PHONES has no UUID as callboard.stream in its metadata: run 'callboard stream create'", "bucket", "KEYS", "AUDIT_LOG")

	created, err := create(t, js)
	if want := (createdStreams{Created: []string{"PHONE_TRANSCRIPTS", "KEYS", "AUDIT_LOG", "LIMITS"}, Identity: true}); err != nil || !reflect.DeepEqual(created, want) {
		t.Fatalf("created = %+v, error = %v, want %+v", created, err, want)
	}
	checkUnsafe(t, js)
	running, err := openStream(t.Context(), js, events.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	now := running.CachedInfo().Config
	if _, err := events.StreamID(now); err != nil || now.Metadata["owner"] != "telephony" {
		t.Errorf("metadata = %v, error = %v, want an identity and the owner", now.Metadata, err)
	}
}

func TestStreamCreate_ExistsWithOtherSettings(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	if _, err := create(t, js); err != nil {
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
		if _, err := create(t, js, c.flag); err == nil || !strings.Contains(err.Error(), c.want) {
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
	keys := events.KeyStreamConfig(1)
	keys.MaxAge = 3 * time.Hour
	if _, err := js.CreateStream(t.Context(), keys); err != nil {
		t.Fatal(err)
	}
	bucket := events.BucketConfig(1)
	bucket.TTL, bucket.Storage, bucket.MaxBytes = time.Hour, jetstream.MemoryStorage, 1<<20
	if _, err := js.CreateObjectStore(t.Context(), bucket); err != nil {
		t.Fatal(err)
	}
	auditStream := events.AuditStreamConfig(1)
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
