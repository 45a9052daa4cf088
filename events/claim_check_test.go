package events_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
)

// longTranscript returns a transcript with this number of turns, each of 480 bytes.
func longTranscript(t *testing.T, turns int) *events.Transcript {
	t.Helper()
	transcript := *decoded(t, "transcript.changed").State.(*events.Transcript)
	turn := transcript.Turns[0]
	turn.Text = strings.Repeat("as I was saying, ", 30)
	transcript.Turns = nil
	for range turns {
		transcript.Turns = append(transcript.Turns, turn)
	}
	transcript.Text = events.Some(strings.Repeat(turn.Text, turns))
	return &transcript
}

func TestPublisher_PublishesLargeTranscriptsAsClaimChecks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server []eventstest.Option
		limit  []events.PublisherOption
		turns  int
	}{
		"over the server's default limit": {turns: 2000},
		"over the publisher's limit":      {turns: 20, limit: []events.PublisherOption{events.MaxMessage(4000)}},
		"over a small server's limit":     {turns: 40, server: []eventstest.Option{eventstest.MaxPayload(16 << 10)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, c.server...)
			want := longTranscript(t, c.turns)
			for range 2 {
				h.publish(events.Changed(want), c.limit...)
			}
			for _, e := range h.stored() {
				got := e.State.(*events.Transcript)
				if got.Text.Valid || got.Turns != nil || got.Object == nil {
					t.Fatalf("stored event = %.200v, want a claim check without text and turns", got)
				}
				if name := want.PhoneSystemID.String() + "/call/" + want.CallID.Value.String() + "/3"; got.Object.Name != name {
					t.Errorf("object name = %s, want %s", got.Object.Name, name)
				}
				if err := events.FetchBody(t.Context(), h.js, got); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("fetched transcript = %.200v, want %.200v", got, want)
				}
			}
		})
	}
}

func TestPublisher_StoresEqualBodiesOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var entries []string
	for _, turns := range []int{20, 20, 21} {
		h.publish(events.Changed(longTranscript(t, turns)), events.MaxMessage(4000))
		bucket, err := h.js.ObjectStore(t.Context(), events.TranscriptBucket)
		if err != nil {
			t.Fatal(err)
		}
		list, err := bucket.List(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("entries = %d, %v, want 1", len(list), err)
		}
		entries = append(entries, list[0].NUID)
	}
	if entries[1] != entries[0] {
		t.Errorf("entry after an equal body = %s, want %s", entries[1], entries[0])
	}
	if entries[2] == entries[1] {
		t.Errorf("entry after another body of the same version = %s, want a new one", entries[2])
	}
}

func TestFetchBody_PermanentErrors(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	bucket, err := h.js.ObjectStore(t.Context(), events.TranscriptBucket)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, body string) events.Object {
		info, err := bucket.PutString(t.Context(), name, body)
		if err != nil {
			t.Fatal(err)
		}
		return events.Object{Bucket: events.TranscriptBucket, Name: name, Bytes: int64(info.Size), Digest: info.Digest}
	}
	good := put("good", `{"text":"hello","turns":[]}`)
	other := put("other", `{"text":"hullo","turns":[]}`)
	check := func(name string, object events.Object, want string) {
		transcript := events.Transcript{Version: 3, Object: &object}
		err := events.FetchBody(t.Context(), h.js, &transcript)
		var invalid *events.InvalidError
		if !errors.As(err, &invalid) || len(invalid.Problems) != 1 || invalid.Problems[0].Pointer != "/object" ||
			!strings.Contains(invalid.Problems[0].Detail, want) || strings.Contains(err.Error(), "hello") {
			t.Errorf("%s: error = %v, want a problem at /object that contains %q", name, err, want)
		}
		if !reflect.DeepEqual(transcript, events.Transcript{Version: 3, Object: &object}) {
			t.Errorf("%s: transcript = %+v, want it unchanged", name, transcript)
		}
	}
	check("missing", events.Object{Bucket: good.Bucket, Name: "missing", Bytes: 1, Digest: good.Digest}, "object not found")
	check("another bucket", events.Object{Bucket: "SECRETS", Name: "good", Bytes: good.Bytes, Digest: good.Digest}, "bucket must be")
	check("shorter", events.Object{Bucket: good.Bucket, Name: "good", Bytes: good.Bytes + 1, Digest: good.Digest}, "another size")
	check("longer", events.Object{Bucket: good.Bucket, Name: "good", Bytes: good.Bytes - 1, Digest: good.Digest}, "another size")
	check("another digest", events.Object{Bucket: good.Bucket, Name: "good", Bytes: good.Bytes, Digest: other.Digest}, "another digest")
	check("too large", events.Object{Bucket: good.Bucket, Name: "good", Bytes: events.MaxBodyBytes + 1, Digest: good.Digest}, "larger than 16777216")
	for _, c := range []struct{ name, body, want string }{
		{"empty", "", "its entry is not valid: not JSON"},
		{"not JSON", "hello", "its entry is not valid: not JSON"},
		{"no object", `"hello"`, "must be an object"},
		{"wrong type", `{"text":7,"turns":[]}`, "/text: must be a string"},
		{"NUL", `{"text":"a\u0000b"}`, "/text: must not contain NUL"},
		{"turn without speaker", `{"text":"a","turns":[{"text":"a"}]}`, "/turns/0/speaker: is required"},
	} {
		check(c.name, put(c.name, c.body), c.want)
	}

	good.Digest = strings.TrimRight(good.Digest, "=")
	unpadded := events.Transcript{Object: &good}
	if err := events.FetchBody(t.Context(), h.js, &unpadded); err != nil || unpadded.Text != events.Some("hello") || unpadded.Object != nil {
		t.Errorf("digest without padding: text = %v, %v, want hello", unpadded.Text, err)
	}
	if err := h.js.DeleteObjectStore(t.Context(), events.TranscriptBucket); err != nil {
		t.Fatal(err)
	}
	check("without a bucket", other, "its entry can't be read")
}

func TestFetchBody_TemporaryErrors(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.publish(events.Changed(longTranscript(t, 20)), events.MaxMessage(4000))
	transcript := h.stored()[0].State.(*events.Transcript)
	check := func(name string, ctx context.Context, js jetstream.JetStream) {
		err := events.FetchBody(ctx, js, transcript)
		var invalid *events.InvalidError
		if err == nil || errors.As(err, &invalid) || transcript.Object == nil {
			t.Errorf("%s: error = %v, object = %v, want a temporary error and the claim check", name, err, transcript.Object)
		}
	}
	closed, err := jetstream.New(eventstest.Connect(t, h.server.URL()))
	if err != nil {
		t.Fatal(err)
	}
	closed.Conn().Close()
	check("connection closed", t.Context(), closed)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	check("context canceled", canceled, h.js)
	h.server.Stop()
	short, cancelShort := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancelShort()
	check("server stopped", short, h.js)
	h.server.Start()
	if err := events.FetchBody(t.Context(), h.js, transcript); err != nil || !transcript.Text.Valid {
		t.Errorf("server started again: text = %v, %v, want a text", transcript.Text, err)
	}
}

func TestFetchBody_LeavesTranscriptsWithoutClaimCheckUnchanged(t *testing.T) {
	t.Parallel()
	got, want := decoded(t, "transcript.changed").State, decoded(t, "transcript.changed").State
	if err := events.FetchBody(t.Context(), nil, got.(*events.Transcript)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("transcript = %+v, %v, want it unchanged", got, err)
	}
}
