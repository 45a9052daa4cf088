package events_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
)

// streamMessage is what must survive.
type streamMessage struct {
	Sequence      uint64
	Time          string
	Subject, Data string
	Header        nats.Header
}

func streamMessages(t *testing.T, stream jetstream.Stream) (list []streamMessage) {
	t.Helper()
	for sequence := uint64(1); sequence <= stream.CachedInfo().State.LastSeq; sequence++ {
		m, err := stream.GetMsg(t.Context(), sequence)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, streamMessage{m.Sequence, m.Time.String(), m.Subject, string(m.Data), m.Header})
	}
	return list
}

func phonesStream(t *testing.T, js jetstream.JetStream) jetstream.Stream {
	t.Helper()
	s, err := js.Stream(t.Context(), events.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func publishRandom(t *testing.T, js jetstream.JetStream, count, size int) {
	t.Helper()
	for i := range count {
		m := nats.NewMsg("phones.a.call")
		m.Header.Set("Number", strconv.Itoa(i))
		m.Data = make([]byte, size)
		_, _ = rand.Read(m.Data) // never fails; random, so that a snapshot can't compress it into one chunk
		if _, err := js.PublishMsg(t.Context(), m, jetstream.WithRetryAttempts(240)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSaveAndRestore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		count, size int
		options     []eventstest.Option
	}{
		"an empty stream":             {},
		"one message":                 {count: 1, size: 10},
		"more than one chunk":         {count: 40, size: 100_000},
		"a server with small payload": {count: 40, size: 2000, options: []eventstest.Option{eventstest.MaxPayload(4096)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			js := eventstest.JetStream(t, eventstest.NewServer(t, c.options...).URL())
			if _, err := js.CreateStream(t.Context(), events.StreamConfig(events.StreamName, 4, 1)); err != nil {
				t.Fatal(err)
			}
			publishRandom(t, js, c.count, c.size)
			before := phonesStream(t, js)
			var file bytes.Buffer
			saved, err := events.SaveSnapshot(t.Context(), js.Conn(), events.StreamName, &file)
			if err != nil {
				t.Fatal(err)
			}
			other := eventstest.JetStream(t, eventstest.NewServer(t, c.options...).URL())
			if err := events.RestoreSnapshot(t.Context(), other.Conn(), events.StreamName, saved, bytes.NewReader(file.Bytes())); err != nil {
				t.Fatal(err)
			}
			after := phonesStream(t, other)
			if got, want := streamMessages(t, after), streamMessages(t, before); !reflect.DeepEqual(got, want) {
				t.Errorf("messages = %.300v, want %.300v", got, want)
			}
			got, want := after.CachedInfo().Config, before.CachedInfo().Config
			if got.Metadata, want.Metadata = nil, nil; !reflect.DeepEqual(got, want) {
				t.Errorf("config = %+v, want %+v", got, want)
			}
			if held, err := saved.Range(); err != nil || held.Last != uint64(c.count) || held.Messages != uint64(c.count) {
				t.Errorf("range = %+v, %v, want %d messages", held, err, c.count)
			}
			publishRandom(t, other, 1, 10)
			if last := phonesStream(t, other).CachedInfo().State.LastSeq; last != uint64(c.count)+1 {
				t.Errorf("sequence of the next message = %d, want %d", last, c.count+1)
			}
		})
	}
}

var errDisk = errors.New("no space left")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errDisk }

func (fullDisk) Read([]byte) (int, error) { return 0, errDisk }

func TestSave_Fails(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	_, err := events.SaveSnapshot(t.Context(), js.Conn(), events.StreamName, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "stream not found") {
		t.Errorf("error = %v, want stream not found", err)
	}
	if _, err := js.CreateStream(t.Context(), events.StreamConfig(events.StreamName, 4, 1)); err != nil {
		t.Fatal(err)
	}
	publishRandom(t, js, 1, 10)
	if _, err := events.SaveSnapshot(t.Context(), js.Conn(), events.StreamName, fullDisk{}); !errors.Is(err, errDisk) {
		t.Errorf("error = %v, want %v", err, errDisk)
	}
}

// A restore that is interrupted leaves a stream that takes no events, and that can be told from a complete one.
func TestRestore_Interrupted(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	if _, err := js.CreateStream(t.Context(), events.StreamConfig(events.StreamName, 4, 1)); err != nil {
		t.Fatal(err)
	}
	publishRandom(t, js, 40, 100_000)
	var file bytes.Buffer
	saved, err := events.SaveSnapshot(t.Context(), js.Conn(), events.StreamName, &file)
	if err != nil {
		t.Fatal(err)
	}
	if events.UnfinishedRestore(phonesStream(t, js).CachedInfo().Config) {
		t.Error("unfinished = true for a complete stream, want false")
	}
	other := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	half := io.MultiReader(bytes.NewReader(file.Bytes()[:file.Len()/2]), fullDisk{})
	if err := events.RestoreSnapshot(t.Context(), other.Conn(), events.StreamName, saved, half); !errors.Is(err, errDisk) {
		t.Fatalf("error = %v, want %v", err, errDisk)
	}
	eventstest.Eventually(t, "the server has created the stream", func() bool {
		_, err := other.Stream(t.Context(), events.StreamName)
		return err == nil
	})
	if !events.UnfinishedRestore(phonesStream(t, other).CachedInfo().Config) {
		t.Error("unfinished = false after an interruption, want true")
	}
	if _, err := other.Publish(t.Context(), "phones.a.call", nil); !errors.Is(err, jetstream.ErrNoStreamResponse) {
		t.Errorf("publish to an unfinished stream: error = %v, want %v", err, jetstream.ErrNoStreamResponse)
	}
	if err := other.DeleteStream(t.Context(), events.StreamName); err != nil {
		t.Fatal(err)
	}
	if err := events.RestoreSnapshot(t.Context(), other.Conn(), events.StreamName, saved, &file); err != nil {
		t.Fatal(err)
	}
	if got, want := streamMessages(t, phonesStream(t, other)), streamMessages(t, phonesStream(t, js)); !reflect.DeepEqual(got, want) {
		t.Errorf("messages = %.300v, want %.300v", got, want)
	}
}
