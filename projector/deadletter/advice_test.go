package deadletter_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events"
	"callboard/events/audit"
	"callboard/projector/deadletter"
)

// The reasons are what decoding gives, so that the advice stays one for them.
func TestAdvice_Decoding(t *testing.T) {
	system := uuid.New()
	header := func(kind string) nats.Header {
		return nats.Header{
			"ce-specversion": {"1.0"}, "ce-id": {"1"}, "ce-source": {"test"}, "ce-type": {kind}, "Content-Type": {"application/json"},
		}
	}
	const deleted = "callboard.call.deleted"
	deletion := `{"id":"` + uuid.NewString() + `","phoneSystemId":"` + system.String() + `","version":1}`
	for says, m := range map[string]events.Message{
		"The body isn't JSON":              {Header: header(deleted), Data: []byte("{")},
		"The body isn't what its type":     {Header: header(deleted), Data: []byte("{}")},
		"mistake in the event's type":      {Header: header("callboard.fax.deleted"), Data: []byte(deletion)},
		"Subject and body disagree":        {Subject: "phones.global.call", Header: header(deleted), Data: []byte(deletion)},
		"headers aren't those of an event": {Header: nats.Header{"Content-Type": {"text/plain"}}, Data: []byte(deletion)},
	} {
		if m.Subject == "" {
			m.Subject = events.Subject(system, events.EntityCall)
		}
		_, err := events.Decode(m)
		if err == nil {
			t.Fatalf("%s: no error", says)
		}
		checkAdvice(t, deadletter.Letter{State: deadletter.Open, Stream: events.StreamName, Reason: err.Error()}, says)
	}
	for _, text := range []string{"", "{", "{}"} {
		_, err := audit.Decode([]byte(text))
		checkAdvice(t, deadletter.Letter{State: deadletter.Open, Stream: audit.StreamName, Reason: err.Error()}, "somebody else publishes to the audit's stream")
	}
}

func checkAdvice(t *testing.T, l deadletter.Letter, says string) {
	t.Helper()
	if got := deadletter.Advice(l); !strings.Contains(got, says) {
		t.Errorf("%s: %s", l.Reason, got)
	}
}

// What the fold and PostgreSQL refuse comes off a projector.
func TestAdvice_Projector(t *testing.T) {
	s := newStage(t)
	s.exec("alter table projection.call_log add constraint picky check (call_sid <> 'CArefused')")
	s.start()
	system := uuid.New()
	refused := call(system, uuid.New())
	refused.CallSid = "CArefused"
	moved := &events.Recording{
		RecordingSid: "RE1", PhoneSystemID: system, CallID: events.Some(uuid.New()), Version: 1, Status: "processing", CreatedAt: refused.CreatedAt,
	}
	s.publish(refused, moved)
	moved.CallID, moved.Version = events.Some(uuid.New()), 2
	s.publish(moved)
	for _, status := range []string{"empty", "other", "bad"} {
		id := uuid.New()
		transcript := claimed(system, id, 1, body)
		switch status {
		case "empty":
			s.put(transcript, "")
		case "other":
			s.put(transcript, strings.ToUpper(body))
		case "bad":
			transcript = claimed(system, id, 1, "[]")
			s.put(transcript, "[]")
		}
		s.publish(transcript)
	}
	large := claimed(system, uuid.New(), 1, body)
	large.Object.Bytes = events.MaxBodyBytes + 1
	elsewhere := claimed(system, uuid.New(), 1, body)
	elsewhere.Object.Bucket = "ELSEWHERE"
	s.publish(large, elsewhere)
	s.caughtUp()
	want := []string{
		"the tables don't take it", "may never happen", "another text than the event", "another text than the event", "can't be read",
		"larger than any may be", "in a way that it can't",
	}
	list := s.list(deadletter.Query{}).Letters
	if len(list) != len(want) {
		t.Fatalf("%+v", list)
	}
	for i, l := range list {
		checkAdvice(t, l, want[i])
	}
}

func TestAdvice_Settled(t *testing.T) {
	for state, says := range map[deadletter.State]string{
		deadletter.Applied: "There is nothing to do", deadletter.Stale: "later state", deadletter.Ignored: "nothing for it to change", deadletter.Dropped: "is gone",
	} {
		checkAdvice(t, deadletter.Letter{State: state, Reason: "/object: its entry can't be had: x"}, says)
	}
	checkAdvice(t, deadletter.Letter{State: deadletter.Waiting, Reason: "of another release"}, "Retry it after the next upgrade")
}
