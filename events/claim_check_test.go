package events_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
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
				start := strings.TrimPrefix(got.Object.Digest, "SHA-256=")[:16]
				if name := want.PhoneSystemID.String() + "/call/" + want.CallID.Value.String() + "/3/" + start; got.Object.Name != name {
					t.Errorf("object name = %s, want %s", got.Object.Name, name)
				}
				if err := fetch(t.Context(), h.js, got); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("fetched transcript = %.200v, want %.200v", got, want)
				}
			}
		})
	}
}

// bucket returns the bucket of transcripts.
func (h *harness) bucket() jetstream.ObjectStore {
	h.Helper()
	bucket, err := h.js.ObjectStore(h.Context(), events.TranscriptBucket)
	if err != nil {
		h.Fatal(err)
	}
	return bucket
}

// claimed publishes a large transcript and returns it with its claim check.
func (h *harness) claimed(turns int) *events.Transcript {
	h.Helper()
	h.publish(events.Changed(longTranscript(h.T, turns)), events.MaxMessage(4000))
	stored := h.stored()
	return stored[len(stored)-1].State.(*events.Transcript)
}

// fetch fetches the body of a transcript with short pauses between the attempts, and returns either error.
func fetch(ctx context.Context, js jetstream.JetStream, t *events.Transcript) error {
	invalid, err := events.FetchBodiesWithPause(ctx, js, []*events.Transcript{t}, time.Millisecond)
	return cmp.Or(invalid[0], err)
}

// entry returns the description of a claim check's entry.
func (h *harness) entry(t *events.Transcript) *jetstream.ObjectInfo {
	h.Helper()
	info, err := h.bucket().GetInfo(h.Context(), t.Object.Name)
	if err != nil {
		h.Fatal(err)
	}
	return info
}

// dropChunks removes the chunks of an entry.
func (h *harness) dropChunks(t *events.Transcript) {
	h.Helper()
	stream, err := h.js.Stream(h.Context(), "OBJ_"+events.TranscriptBucket)
	if err != nil {
		h.Fatal(err)
	}
	subject := "$O." + events.TranscriptBucket + ".C." + h.entry(t).NUID
	if err := stream.Purge(h.Context(), jetstream.WithPurgeSubject(subject)); err != nil {
		h.Fatal(err)
	}
}

func TestPublisher_StoresEqualBodiesOnce(t *testing.T) {
	h := newHarness(t)
	first := h.claimed(20)
	entry := h.entry(first)
	if again := h.entry(h.claimed(20)); again.NUID != entry.NUID {
		t.Errorf("entry after an equal body = %s, want %s", again.NUID, entry.NUID)
	}
	other := h.claimed(21)
	if list, err := h.bucket().List(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("entries after another body of the same version = %d, %v, want 2", len(list), err)
	}
	for _, transcript := range []*events.Transcript{first, other} {
		if err := fetch(t.Context(), h.js, transcript); err != nil {
			t.Errorf("body of %s: %v", transcript.Object.Name, err)
		}
	}
}

// The bucket takes the description of an entry whose chunks it refused, because it was full.
func TestPublisher_StoresAnInterruptedBodyAgain(t *testing.T) {
	h := newHarness(t)
	stream, err := h.js.Stream(t.Context(), "OBJ_"+events.TranscriptBucket)
	if err != nil {
		t.Fatal(err)
	}
	limit := func(bytes int64) {
		t.Helper()
		config := stream.CachedInfo().Config
		config.MaxBytes = bytes
		if _, err := h.js.UpdateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	}
	limit(4000)
	done := make(chan error, 1)
	go func() {
		large := events.Changed(longTranscript(t, 20))
		done <- events.NewPublisher(h.js, "/pbx", events.MaxMessage(4000)).Publish(t.Context(), large)
	}()
	eventstest.Eventually(t, "the entry is described", func() bool {
		list, err := h.bucket().List(t.Context())
		return err == nil && len(list) == 1
	})
	limit(-1)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	transcript := h.stored()[0].State.(*events.Transcript)
	if err := fetch(t.Context(), h.js, transcript); err != nil {
		t.Error(err)
	}
}

func TestFetchBodies_MissingChunks(t *testing.T) {
	h := newHarness(t)
	transcript := h.claimed(20)
	h.dropChunks(transcript)
	var invalid *events.InvalidError
	if err := fetch(t.Context(), h.js, transcript); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "/object: chunks of its entry are missing") {
		t.Errorf("error = %v, want a permanent one", err)
	}
	h.claimed(20)
	if err := fetch(t.Context(), h.js, transcript); err != nil {
		t.Errorf("error after the body was stored again = %v, want none", err)
	}
}

// An entry that a replica does not have yet is asked for again, a bounded number of times.
func TestFetchBodies_LaggingReplica(t *testing.T) {
	t.Parallel()
	for lag, want := range map[int32]string{ // by how many requests the replica answers before it has the entry
		7: "",
		8: "/object: its entry could not be read in 8 attempts: a replica of the object store lags",
	} {
		t.Run(strconv.Itoa(int(lag)), func(t *testing.T) {
			h := newHarness(t)
			transcript := h.claimed(20)
			replica := newReplica(h)
			replica.lag.Store(lag)
			err := fetch(t.Context(), replica.js, transcript)
			if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
				t.Errorf("error = %v, want %q", err, want)
			}
		})
	}
}

// replica is a JetStream of which a replica answers the requests that any replica may answer. It has no message for
// a number of requests.
type replica struct {
	js  jetstream.JetStream
	lag atomic.Int32 // requests
}

func newReplica(h *harness) *replica {
	h.Helper()
	const prefix, direct = "replica.", "DIRECT.GET."
	conn := h.js.Conn()
	r := &replica{}
	forward := func(m *nats.Msg) {
		to := strings.TrimPrefix(m.Subject, prefix)
		if strings.HasPrefix(to, direct) && r.lag.Add(-1) >= 0 {
			_ = m.RespondMsg(&nats.Msg{Header: nats.Header{"Status": {"404"}, "Description": {"Message Not Found"}}})
			return
		}
		_ = conn.PublishMsg(&nats.Msg{Subject: "$JS.API." + to, Reply: m.Reply, Header: m.Header, Data: m.Data})
	}
	if _, err := conn.Subscribe(prefix+">", forward); err != nil {
		h.Fatal(err)
	}
	if err := conn.Flush(); err != nil { // requests come on another connection
		h.Fatal(err)
	}
	var err error
	if r.js, err = jetstream.NewWithAPIPrefix(eventstest.Connect(h, h.server.URL()), strings.TrimSuffix(prefix, ".")); err != nil {
		h.Fatal(err)
	}
	return r
}

// Entries that can't be used are decided with a few requests each, and without a pause.
func TestFetchBodies_PermanentErrors(t *testing.T) {
	h := newHarness(t)
	bucket := h.bucket()
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
		before := h.js.Conn().Stats().OutMsgs
		problems, err := events.FetchBodiesWithPause(t.Context(), h.js, []*events.Transcript{&transcript}, time.Hour)
		err = cmp.Or(problems[0], err)
		// Two requests open the bucket; two find an entry. Only content that differs is read, through a consumer.
		if requests := h.js.Conn().Stats().OutMsgs - before; requests > 7 {
			t.Errorf("%s: requests = %d, want at most 7", name, requests)
		}
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
	check("shorter", events.Object{Bucket: good.Bucket, Name: "good", Bytes: good.Bytes + 1, Digest: good.Digest}, "another size")
	check("longer", events.Object{Bucket: good.Bucket, Name: "good", Bytes: good.Bytes - 1, Digest: good.Digest}, "another size")
	check("another digest", events.Object{Bucket: good.Bucket, Name: "good", Bytes: good.Bytes, Digest: other.Digest}, "another digest")
	for _, name := range []string{"x y", "x..y", "x.>.y", "x\x01y", strings.Repeat("n", 512)} {
		check(fmt.Sprintf("name %.10q", name), events.Object{Bucket: good.Bucket, Name: name, Bytes: good.Bytes, Digest: good.Digest}, "object not found")
	}
	deleted := put("deleted", "hello")
	if err := bucket.Delete(t.Context(), "deleted"); err != nil {
		t.Fatal(err)
	}
	check("deleted", deleted, "object not found")
	if _, err := bucket.AddLink(t.Context(), "link", &jetstream.ObjectInfo{Bucket: good.Bucket, ObjectMeta: jetstream.ObjectMeta{Name: "link"}}); err != nil {
		t.Fatal(err)
	}
	check("a link to itself", events.Object{Bucket: good.Bucket, Name: "link", Bytes: good.Bytes, Digest: good.Digest}, "is a link")
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

	for _, chunks := range []string{"", "x y", "x..y", "x.>.y", strings.Repeat("n", 5000)} {
		check(fmt.Sprintf("chunks %.10q", chunks), h.describe(good, jetstream.ObjectInfo{NUID: chunks, Chunks: 1}), "meta information invalid")
	}
	check("too many chunks", h.describe(good, jetstream.ObjectInfo{NUID: "n", Chunks: 16385}), "meta information invalid")
	check("no chunks", h.describe(good, jetstream.ObjectInfo{NUID: "n"}), "meta information invalid")

	good.Digest = strings.TrimRight(good.Digest, "=")
	unpadded := events.Transcript{Object: &good}
	if err := fetch(t.Context(), h.js, &unpadded); err != nil || unpadded.Text != events.Some("hello") || unpadded.Object != nil {
		t.Errorf("digest without padding: text = %v, %v, want hello", unpadded.Text, err)
	}
	if err := h.js.DeleteObjectStore(t.Context(), events.TranscriptBucket); err != nil {
		t.Fatal(err)
	}
	check("without a bucket", other, "its entry can't be read")
}

// describe stores a description, without content, of an entry with an object's size and digest, and returns the object.
func (h *harness) describe(o events.Object, info jetstream.ObjectInfo) events.Object {
	h.Helper()
	o.Name = "described"
	info.ObjectMeta, info.Bucket, info.Size, info.Digest = jetstream.ObjectMeta{Name: o.Name}, o.Bucket, uint64(o.Bytes), o.Digest
	data, err := json.Marshal(info)
	if err != nil {
		h.Fatal(err)
	}
	subject := "$O." + o.Bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(o.Name))
	if _, err := h.js.Publish(h.Context(), subject, data); err != nil {
		h.Fatal(err)
	}
	return o
}

func TestFetchBodies_TemporaryErrors(t *testing.T) {
	h := newHarness(t)
	transcript := h.claimed(20)
	check := func(name string, ctx context.Context, js jetstream.JetStream) {
		err := fetch(ctx, js, transcript)
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
	eventstest.Eventually(t, "the server answers", func() bool {
		_, err := h.js.AccountInfo(t.Context())
		return err == nil
	})
	if err := fetch(t.Context(), h.js, transcript); err != nil || !transcript.Text.Valid {
		t.Errorf("server started again: text = %v, %v, want a text", transcript.Text, err)
	}
}

func TestFetchBodies_LeavesTranscriptsWithoutClaimCheckUnchanged(t *testing.T) {
	t.Parallel()
	got, want := decoded(t, "transcript.changed").State, decoded(t, "transcript.changed").State
	if err := fetch(t.Context(), nil, got.(*events.Transcript)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("transcript = %+v, %v, want it unchanged", got, err)
	}
}
