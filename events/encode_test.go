package events_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"callboard/events"
)

func TestEncode_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent().Draw(t, "event")
		m, err := events.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := events.Decode(m)
		if err != nil {
			t.Fatal(err)
		}
		if !sameEvent(got, e) {
			t.Fatalf("state = %+v\nwant %+v\n%s", got.State, e.State, m.Data)
		}
	})
}

func TestEncode_ClaimCheck(t *testing.T) {
	e := decoded(t, "transcript.claim-check.changed")
	m, err := events.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	want := nats.Header{
		"ce-specversion": {"1.0"}, "ce-id": {e.ID}, "ce-source": {e.Source}, "ce-type": {"callboard.transcript.changed"},
		"ce-time": {"2026-03-02T09:34:06.25Z"}, "Content-Type": {"application/json"}, "Nats-Msg-Id": {events.MessageID(e.Source, e.ID)},
	}
	if !reflect.DeepEqual(m.Header, want) {
		t.Errorf("headers = %v, want %v", m.Header, want)
	}
	if want := "phones.5d0c6a6e-27f1-4a4e-9d2b-0c8f3f1b7a10.transcript"; m.Subject != want {
		t.Errorf("subject = %s, want %s", m.Subject, want)
	}
	if strings.Contains(string(m.Data), `"text"`) || strings.Contains(string(m.Data), `"turns"`) {
		t.Errorf("data = %s, want neither text nor turns", m.Data)
	}
}

func TestEncode_RefusesWhatDecodeRefuses(t *testing.T) {
	call := *decoded(t, "call.changed").State.(*events.Call)
	call.FromName = events.Some("bad \xff text")
	noID := decoded(t, "call.changed")
	noID.ID = ""
	badKey := decoded(t, "call.deleted")
	badKey.Key = "not a UUID"
	badOwnerRow := decoded(t, "transcript.deleted")
	badOwnerRow.Key = "fax/5d0c6a6e-27f1-4a4e-9d2b-0c8f3f1b7a10"
	otherEntity := decoded(t, "call.changed")
	otherEntity.Entity = events.EntityVoicemail
	for name, e := range map[string]events.Event{
		"bad UTF-8": events.Changed(&call), "no ID": noID, "bad key": badKey, "bad owner row": badOwnerRow, "another entity": otherEntity,
		"zero event": {},
	} {
		if m, err := events.Encode(e); err == nil {
			t.Errorf("%s: message = %s, want an error", name, m.Data)
		}
	}
}
