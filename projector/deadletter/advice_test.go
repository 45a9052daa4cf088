package deadletter_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events"
	"callboard/projector/deadletter"
	"callboard/projector/projectortest"
)

// The reasons are those that decoding returns, so a reworded reason that loses its advice fails here.
func TestAdvice_DecodingErrors(t *testing.T) {
	t.Parallel()
	system := uuid.New()
	header := func(eventType string) nats.Header {
		return nats.Header{
			"ce-specversion": {"1.0"}, "ce-id": {"1"}, "ce-source": {"test"}, "ce-type": {eventType}, "Content-Type": {"application/json"},
		}
	}
	const deleted = "callboard.call.deleted"
	deletion := `{"id":"` + uuid.NewString() + `","phoneSystemId":"` + system.String() + `","version":1}`
	for want, m := range map[string]events.Message{
		"The body is not valid JSON":         {Header: header(deleted), Data: []byte("{")},
		"The body does not match the event":  {Header: header(deleted), Data: []byte("{}")},
		"does not know the event's type":     {Header: header("callboard.fax.deleted"), Data: []byte(deletion)},
		"contradict each other":              {Subject: "phones.global.call", Header: header(deleted), Data: []byte(deletion)},
		"headers are not those of an event.": {Header: nats.Header{"Content-Type": {"text/plain"}}, Data: []byte(deletion)},
	} {
		if m.Subject == "" {
			m.Subject = events.Subject(system, events.EntityCall)
		}
		_, err := events.Decode(m)
		if err == nil {
			t.Fatalf("message for %q: no error", want)
		}
		checkAdvice(t, deadletter.DeadLetter{State: deadletter.Open, Stream: otherStream(), Reason: err.Error()}, want)
	}
	for _, text := range []string{"", "{", "{}"} {
		_, err := events.DecodeAudit([]byte(text))
		checkAdvice(t, deadletter.DeadLetter{State: deadletter.Open, Reason: err.Error()}, "Another program publishes to the audit stream")
	}
}

func checkAdvice(t *testing.T, l deadletter.DeadLetter, want string) {
	t.Helper()
	if got := deadletter.Advice(l); !strings.Contains(got, want) {
		t.Errorf("reason %q: advice = %q, want it to contain %q", l.Reason, got, want)
	}
}

// What fold, the object store and PostgreSQL refuse comes from a projector.
func TestAdvice_ProjectorErrors(t *testing.T) {
	h := newHarness(t)
	h.Exec("alter table projection.call_log add constraint refuse_sid check (call_sid <> 'CArefused')")
	h.startProjector()
	system := uuid.New()
	refused := projectortest.Call(system, uuid.New())
	refused.CallSid = "CArefused"
	moved := &events.Recording{
		RecordingSid: "RE1", PhoneSystemID: system, CallID: events.Some(uuid.New()), Version: 1, Status: "processing", CreatedAt: refused.CreatedAt,
	}
	h.PublishStates(refused, moved)
	moved.CallID, moved.Version = events.Some(uuid.New()), 2
	h.PublishStates(moved)
	for _, c := range []struct{ announced, stored string }{
		{transcriptText, ""}, {transcriptText, strings.ToUpper(transcriptText)}, {"[]", "[]"},
	} {
		transcript := transcriptInStore(system, uuid.New(), c.announced)
		h.store(transcript, c.stored)
		h.PublishStates(transcript)
	}
	h.WaitUntilCaughtUp()
	want := []string{
		"PostgreSQL refused the rows", "which is not allowed", "differs from the one", "differs from the one", "is not valid",
	}
	list := h.list(deadletter.Query{}).DeadLetters
	if len(list) != len(want) {
		t.Fatalf("dead letters = %+v, want %d", list, len(want))
	}
	for i, l := range list {
		checkAdvice(t, l, want[i])
	}
}

func TestAdvice_States(t *testing.T) {
	t.Parallel()
	for state, want := range map[deadletter.State]string{
		deadletter.Applied: "There is nothing to do", deadletter.Stale: "later state", deadletter.Ignored: "deleted call",
		deadletter.Dropped: "its data deleted",
	} {
		checkAdvice(t, deadletter.DeadLetter{State: state, Reason: "/object: its entry can't be read: x"}, want)
	}
	checkAdvice(t, deadletter.DeadLetter{State: deadletter.Waiting, Stream: otherStream(), Reason: "unknown"}, "Retry the dead letter after the next upgrade")
}
