package deadletter_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/deadletter"
	"callboard/projector/projectortest"
)

// publishLateTranscript publishes a transcript whose text is not stored yet, and returns its dead letter.
func (h *harness) publishLateTranscript() (id int64, transcript *events.Transcript) {
	h.Helper()
	system, call := uuid.New(), uuid.New()
	transcript = transcriptInStore(system, call, transcriptText)
	h.Apply(projectortest.Call(system, call), transcript)
	list := h.list(deadletter.Query{}).DeadLetters
	return list[len(list)-1].ID, transcript
}

// A retry is the message as it was, with the name of the dead letter, without headers that NATS acts on, and
// without an ID.
func TestRetry_Message(t *testing.T) {
	h := newHarness(t)
	stop := h.startProjector()
	subject := events.Subject(uuid.New(), events.EntityCall)
	first := h.PublishRaw(subject, nats.Header{
		"x": {"y", "z"}, "Nats-Msg-Id": {"a"}, "Nats-Expected-Last-Subject-Sequence": {"0"}, events.RetryHeader: {"17/18"},
	}, "no JSON")
	h.WaitUntilCaughtUp()
	stop()
	h.publishRetry()
	info, err := h.Stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before, err := h.Stream.GetMsg(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	after, err := h.Stream.GetMsg(t.Context(), info.State.LastSeq)
	if err != nil {
		t.Fatal(err)
	}
	if after.Subject != before.Subject || !bytes.Equal(after.Data, before.Data) || after.Sequence == before.Sequence {
		t.Errorf("retry = %+v, want %+v", after, before)
	}
	want := nats.Header{
		"x": {"y", "z"}, "Nats-Expected-Stream": {events.StreamName},
		events.RetryHeader: {events.FormatRetry(first, events.TimeOf(before.Time))},
	}
	if len(after.Header) != len(want) {
		t.Errorf("headers = %v, want %v", after.Header, want)
	}
	for name, values := range want {
		if !slices.Equal(after.Header[name], values) {
			t.Errorf("header %s = %v, want %v", name, after.Header[name], values)
		}
	}
}

// A dead letter that the name of the retry makes too large for the server is passed over.
func TestRetry_TooLarge(t *testing.T) {
	h := newHarness(t)
	stop := h.startProjector()
	system := uuid.New()
	h.PublishRaw(events.Subject(system, events.EntityCall), nil, strings.Repeat("x", int(h.JetStream.Conn().MaxPayload())))
	h.publishInvalid(system)
	h.WaitUntilCaughtUp()
	stop()
	retries, err := h.retrier().Retry(t.Context(), deadletter.Selection{})
	if err != nil || !slices.Equal(retries.Published, []int64{2}) {
		t.Errorf("published = %v, error = %v, want dead letter 2", retries.Published, err)
	}
	if list := retries.TooLarge; len(list) != 1 || list[0].ID != 1 || list[0].State != deadletter.Open || !strings.Contains(list[0].Reason, "raise max_payload") {
		t.Errorf("too large = %+v, want dead letter 1 with the name of the setting", list)
	}
}

// A retry that fails counts as a try of the same dead letter, and gives it its reason.
func TestRetry_FailsAgain(t *testing.T) {
	h := newHarness(t)
	h.startProjector()
	id, transcript := h.publishLateTranscript()
	for try := range 2 {
		h.store(transcript, strings.Repeat("x", len(transcriptText)))
		got := h.retry(deadletter.Selection{})[id]
		if d := h.find(id); got.State != deadletter.Open || !strings.Contains(d.Reason, "has another") || d.Tries != try+1 || d.FailedAt == nil || d.RetriedAt != nil {
			t.Errorf("try %d: result = %+v, dead letter = %+v, want it open with the new reason", try+1, got, d.DeadLetter)
		}
	}
	h.store(transcript, transcriptText)
	if got := h.retry(deadletter.Selection{})[id]; got.State != deadletter.Applied {
		t.Errorf("result = %+v, want applied", got)
	}
	if n := h.QueryInt("select count(*) from control.dead_letter"); n != 1 {
		t.Errorf("dead letters = %d, want 1", n)
	}
}

// A retry is published although somebody has taken IDs for it in advance, also if a command that was killed between
// publishing and recording has published it already.
func TestRetry_AfterCrashBeforeRecord(t *testing.T) {
	h := newHarness(t)
	stop := h.startProjector()
	id, _ := h.publishLateTranscript()
	for try := range 3 {
		h.PublishRaw(events.Subject(uuid.New(), events.EntityCall), nats.Header{
			"Nats-Msg-Id": {fmt.Sprintf("retry-PHONES-%d-%d", h.find(id).Sequence, try+1)},
		}, "taken in advance")
	}
	h.WaitUntilCaughtUp()
	stop()
	before := h.lastSequence()
	for range 2 {
		if _, err := h.retrier().Retry(t.Context(), deadletter.Selection{IDs: []int64{id}}); err != nil {
			t.Fatal(err)
		}
		h.Exec("update control.dead_letter set retried_at = null, retry_sequence = null")
	}
	if got := h.lastSequence(); got < before+2 {
		t.Errorf("last sequence = %d, want at least %d: a retry was taken for a duplicate", got, before+2)
	}
}

func (h *harness) lastSequence() uint64 {
	h.Helper()
	info, err := h.Stream.Info(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	return info.State.LastSeq
}

// A stream that is full refuses a retry, and the dead letter stays as it is.
func TestRetry_FullStream(t *testing.T) {
	h := newHarness(t)
	h.startProjector()
	id, _ := h.publishLateTranscript()
	config := h.Stream.CachedInfo().Config
	config.MaxMsgs = int64(h.lastSequence())
	if _, err := h.JetStream.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	retries, err := h.retrier().Retry(t.Context(), deadletter.Selection{})
	var refusal *jetstream.APIError
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), "maximum messages exceeded") || len(retries.Published) != 0 {
		t.Errorf("retries = %+v, error = %v, want that the stream is full", retries, err)
	}
	if got := h.find(id); got.State != deadletter.Open || got.Tries != 0 {
		t.Errorf("dead letter = %+v, want it open", got.DeadLetter)
	}
}
