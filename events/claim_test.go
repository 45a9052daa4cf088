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

// longTranscript is a transcript whose message no server accepts at its usual max_payload.
func longTranscript(t *testing.T, turns int) *events.Transcript {
	t.Helper()
	transcript := *decoded(t, "transcript.changed").State.(*events.Transcript)
	line := transcript.Turns[0]
	line.Text = strings.Repeat("as I was saying, ", 30)
	transcript.Turns = nil
	for range turns {
		transcript.Turns = append(transcript.Turns, line)
	}
	transcript.Text = events.Some(strings.Repeat(line.Text, turns))
	return &transcript
}

func TestPublisher_ChecksLargeTranscriptsIn(t *testing.T) {
	for name, c := range map[string]struct {
		options []eventstest.Option
		limit   []events.PublisherOption
		turns   int
	}{
		"over the server's limit": {turns: 2000},
		"over a limit set":        {turns: 20, limit: []events.PublisherOption{events.MaxMessage(4000)}},
		"over a small server's":   {turns: 40, options: []eventstest.Option{eventstest.MaxPayload(16 << 10)}},
	} {
		t.Run(name, func(t *testing.T) {
			_, js, stored := published(t, c.options...)
			want := longTranscript(t, c.turns)
			publisher := events.NewPublisher(js, "/pbx", c.limit...)
			for range 2 {
				if err := publisher.Publish(t.Context(), events.Changed(want)); err != nil {
					t.Fatal(err)
				}
			}
			for _, e := range stored() {
				got := e.State.(*events.Transcript)
				if got.Text.Valid || got.Turns != nil || got.Object == nil {
					t.Fatalf("stored with its body: %.200v", got)
				}
				if name := want.PhoneSystemID.String() + "/call/" + want.CallID.Value.String() + "/3"; got.Object.Name != name {
					t.Errorf("object %s, want %s", got.Object.Name, name)
				}
				if err := events.FetchBody(t.Context(), js, got); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Error("the body came back different")
				}
			}
		})
	}
}

func TestPublisher_LeavesStoredBodiesAlone(t *testing.T) {
	_, js, _ := published(t)
	publisher := events.NewPublisher(js, "/pbx", events.MaxMessage(4000))
	entry := func() string {
		bucket, err := js.ObjectStore(t.Context(), events.TranscriptBucket)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := bucket.List(t.Context())
		if err != nil || len(entries) != 1 {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		return entries[0].NUID
	}
	if err := publisher.Publish(t.Context(), events.Changed(longTranscript(t, 20))); err != nil {
		t.Fatal(err)
	}
	first := entry()
	if err := publisher.Publish(t.Context(), events.Changed(longTranscript(t, 20))); err != nil {
		t.Fatal(err)
	}
	if entry() != first {
		t.Error("an equal body was stored again")
	}
	if err := publisher.Publish(t.Context(), events.Changed(longTranscript(t, 21))); err != nil {
		t.Fatal(err)
	}
	if entry() == first {
		t.Error("another body under the same version was not stored")
	}
}

func TestFetchBody_TellsFaultsForGood(t *testing.T) {
	_, js, _ := published(t)
	bucket, err := js.ObjectStore(t.Context(), events.TranscriptBucket)
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
	for name, c := range map[string]struct {
		object events.Object
		says   string
	}{
		"missing":         {events.Object{Bucket: good.Bucket, Name: "gone", Bytes: 1, Digest: good.Digest}, "object not found"},
		"other bucket":    {events.Object{Bucket: "SECRETS", Name: "good", Bytes: good.Bytes, Digest: good.Digest}, "bucket must be"},
		"shorter":         {events.Object{Bucket: good.Bucket, Name: "good", Bytes: good.Bytes + 1, Digest: good.Digest}, "another size"},
		"longer":          {events.Object{Bucket: good.Bucket, Name: "good", Bytes: good.Bytes - 1, Digest: good.Digest}, "another size"},
		"other digest":    {events.Object{Bucket: good.Bucket, Name: "good", Bytes: good.Bytes, Digest: other.Digest}, "another digest"},
		"enormous":        {events.Object{Bucket: good.Bucket, Name: "good", Bytes: events.MaxBodyBytes + 1, Digest: good.Digest}, "larger than 16777216"},
		"empty":           {put("empty", ""), "can't be read: not JSON"},
		"no JSON":         {put("no JSON", "hello"), "can't be read: not JSON"},
		"no object":       {put("no object", `"hello"`), "must be an object"},
		"wrong type":      {put("wrong type", `{"text":7,"turns":[]}`), "/text: must be a string"},
		"NUL":             {put("NUL", `{"text":"a\u0000b"}`), "/text: must not contain NUL"},
		"turn of no kind": {put("turn", `{"text":"a","turns":[{"text":"a"}]}`), "/turns/0/speaker: is required"},
	} {
		transcript := events.Transcript{Version: 3, Object: &c.object}
		err := events.FetchBody(t.Context(), js, &transcript)
		var invalid *events.InvalidError
		if !errors.As(err, &invalid) || len(invalid.Problems) != 1 || invalid.Problems[0].Pointer != "/object" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(invalid.Problems[0].Detail, c.says) || strings.Contains(err.Error(), "hello") {
			t.Errorf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(transcript, events.Transcript{Version: 3, Object: &c.object}) {
			t.Errorf("%s: the transcript was changed", name)
		}
	}
	good.Digest = strings.TrimRight(good.Digest, "=")
	unpadded := events.Transcript{Object: &good}
	if err := events.FetchBody(t.Context(), js, &unpadded); err != nil || unpadded.Text != events.Some("hello") || unpadded.Object != nil {
		t.Errorf("digest without padding: %v", err)
	}
	if err := js.DeleteObjectStore(t.Context(), events.TranscriptBucket); err != nil {
		t.Fatal(err)
	}
	var invalid *events.InvalidError
	if err := events.FetchBody(t.Context(), js, &events.Transcript{Object: &other}); !errors.As(err, &invalid) {
		t.Errorf("without a bucket: %v", err)
	}
}

func TestFetchBody_TellsTroubleOfTheMoment(t *testing.T) {
	server, js, stored := published(t)
	publisher := events.NewPublisher(js, "/pbx", events.MaxMessage(4000))
	if err := publisher.Publish(t.Context(), events.Changed(longTranscript(t, 20))); err != nil {
		t.Fatal(err)
	}
	transcript := stored()[0].State.(*events.Transcript)
	plain := func(name string, err error) {
		var invalid *events.InvalidError
		if err == nil || errors.As(err, &invalid) || transcript.Object == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	plain("ended", events.FetchBody(ended, js, transcript))
	server.Stop()
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	plain("server down", events.FetchBody(short, js, transcript))
	server.Start()
	if err := events.FetchBody(t.Context(), js, transcript); err != nil || !transcript.Text.Valid {
		t.Errorf("server up again: %v", err)
	}
	closed, err := jetstream.New(eventstest.Connect(t, server.URL()))
	if err != nil {
		t.Fatal(err)
	}
	closed.Conn().Close()
	transcript = stored()[0].State.(*events.Transcript)
	plain("connection closed", events.FetchBody(t.Context(), closed, transcript))
}

func TestFetchBody_LeavesInlineBodiesAlone(t *testing.T) {
	transcript := decoded(t, "transcript.changed").State.(*events.Transcript)
	if err := events.FetchBody(t.Context(), nil, transcript); err != nil {
		t.Error(err)
	}
}
