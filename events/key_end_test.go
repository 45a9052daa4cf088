package events_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
)

func newKeyStream(t *testing.T) jetstream.JetStream {
	t.Helper()
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	if _, err := js.CreateStream(t.Context(), events.KeyStreamConfig(1)); err != nil {
		t.Fatal(err)
	}
	return js
}

func publishKeyEnds(t *testing.T, js jetstream.JetStream, entries ...events.KeyEnd) {
	t.Helper()
	for _, e := range entries {
		if err := events.PublishKeyEnd(t.Context(), js, e); err != nil {
			t.Fatal(err)
		}
	}
}

// read returns the entries that are new to a reader, and the number of unreadable messages.
func readKeyEnds(t *testing.T, js jetstream.JetStream, r *events.KeyEndReader) (entries []events.KeyEnd, unreadable int) {
	t.Helper()
	unreadable, err := r.Read(t.Context(), js, func(list []events.KeyEnd) error {
		entries = append(entries, list...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries, unreadable
}

func checkKeyEnds(t *testing.T, got []events.KeyEnd, want ...events.KeyEnd) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("entries = %+v, want %+v", got, want)
	}
	for i := range want {
		if !got[i].Same(want[i]) {
			t.Errorf("entry %d = %+v, want %+v", i, got[i], want[i])
		}
	}
}

func revokedKey(at time.Time) events.KeyEnd { return events.KeyEnd{ID: uuid.New(), RevokedAt: &at} }

// A reader gets the newest entry of each key, and later only what is new.
func TestKeyEndReader_Read(t *testing.T) {
	js := newKeyStream(t)
	now := time.Now().UTC().Truncate(time.Microsecond)
	soon := now.Add(time.Hour)
	a, b := revokedKey(now), events.KeyEnd{ID: uuid.New(), ExpiresAt: &soon}
	publishKeyEnds(t, js, a, b)
	both := b
	both.RevokedAt = &now
	publishKeyEnds(t, js, both)
	var r events.KeyEndReader
	got, _ := readKeyEnds(t, js, &r)
	checkKeyEnds(t, got, a, both)
	got, _ = readKeyEnds(t, js, &r)
	checkKeyEnds(t, got)
	c := revokedKey(now)
	publishKeyEnds(t, js, c)
	got, _ = readKeyEnds(t, js, &r)
	checkKeyEnds(t, got, c)
}

// A message that the server has sent, but that has not arrived, is an error. The next read has it, and more entries
// than a request asks for.
func TestKeyEndReader_LostMessage(t *testing.T) {
	js := newKeyStream(t)
	const count = 1100 // more than one request asks for
	for range count {
		publishKeyEnds(t, js, revokedKey(time.Now()))
	}
	stream, err := js.Stream(t.Context(), events.KeyStream)
	if err != nil {
		t.Fatal(err)
	}
	take := sync.OnceFunc(func() { // a message after those of the first request
		for name := range stream.ConsumerNames(t.Context()).Name() {
			consumer, err := stream.Consumer(t.Context(), name)
			if err == nil {
				_, err = consumer.Next()
			}
			if err != nil {
				t.Error(err)
			}
		}
		publishKeyEnds(t, js, revokedKey(time.Now())) // in its place: the request does not wait for more
	})
	var r events.KeyEndReader
	_, err = r.Read(t.Context(), js, func([]events.KeyEnd) error {
		take()
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "1 messages were lost") {
		t.Errorf("error = %v, want one about a lost message", err)
	}
	if got, _ := readKeyEnds(t, js, &r); len(got) != count+1 {
		t.Errorf("entries of the next read = %d, want %d", len(got), count+1)
	}
}

// After an error of the work, all of it is read again. A stream that was created again is read from its beginning.
func TestKeyEndReader_BeginsAgain(t *testing.T) {
	js := newKeyStream(t)
	a, b := revokedKey(time.Now()), revokedKey(time.Now())
	publishKeyEnds(t, js, a, b)
	var r events.KeyEndReader
	failure := errors.New("failure")
	if _, err := r.Read(t.Context(), js, func([]events.KeyEnd) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("error = %v, want that of the work", err)
	}
	got, _ := readKeyEnds(t, js, &r)
	checkKeyEnds(t, got, a, b)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER"}); err != nil { // the server removes an empty account's folders
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), events.KeyStream); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), events.KeyStreamConfig(1)); err != nil {
		t.Fatal(err)
	}
	c := revokedKey(time.Now())
	publishKeyEnds(t, js, c)
	got, _ = readKeyEnds(t, js, &r)
	checkKeyEnds(t, got, c)
}

// A message that holds no entry, that of another key, or a copy of one, ends no key and does not hide the others.
func TestKeyEndReader_UnreadableMessages(t *testing.T) {
	js := newKeyStream(t)
	victim := uuid.NewString()
	for subject, body := range map[string]string{
		uuid.NewString(): `{"id":"` + victim + `","revokedAt":"2026-03-01T00:00:00Z"}`,
		"text":           "hello",
		victim:           `{"id":"` + victim + `"}`,
		"negative":       `{"id":"` + victim + `","revokedAt":"0001-01-01T00:00:00Z"}`,
	} {
		if _, err := js.Publish(t.Context(), "callboard.keys."+subject, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	copied := nats.NewMsg("callboard.keys." + uuid.NewString())
	copied.Header.Set("Nats-Stream", "OBJ_PHONE_TRANSCRIPTS")
	copied.Data = []byte(`{"id":"` + strings.TrimPrefix(copied.Subject, "callboard.keys.") + `","revokedAt":"2026-03-01T00:00:00Z"}`)
	if _, err := js.PublishMsg(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	e := revokedKey(time.Now())
	publishKeyEnds(t, js, e)
	var r events.KeyEndReader
	got, unreadable := readKeyEnds(t, js, &r)
	checkKeyEnds(t, got, e)
	if unreadable != 5 {
		t.Errorf("unreadable messages = %d, want 5", unreadable)
	}
}

// Neither an entry without an end nor one without a key is published. Without a stream, both sides say so.
func TestKeyStream_Refuses(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	now := time.Now()
	for _, e := range []events.KeyEnd{{ID: uuid.New()}, {RevokedAt: &now}} {
		if err := events.PublishKeyEnd(t.Context(), js, e); err == nil || errors.Is(err, events.ErrNoKeyStream) {
			t.Errorf("entry %+v: error = %v, want that it is empty", e, err)
		}
	}
	if err := events.PublishKeyEnd(t.Context(), js, revokedKey(now)); !errors.Is(err, events.ErrNoKeyStream) {
		t.Errorf("publish: error = %v, want ErrMissing", err)
	}
	var r events.KeyEndReader
	_, err := r.Read(t.Context(), js, func([]events.KeyEnd) error { return nil })
	if !errors.Is(err, events.ErrNoKeyStream) {
		t.Errorf("read: error = %v, want ErrMissing", err)
	}
}
