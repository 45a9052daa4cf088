package events_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

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
			t.Fatalf("\n got %+v\nwant %+v\n%s", got.State, e.State, m.Data)
		}
	})
}

func TestEncode_WritesWhatTravels(t *testing.T) {
	e := decoded(t, "transcript.claim-check.changed")
	m, err := events.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	want := nats.Header{
		"ce-specversion": {"1.0"}, "ce-id": {e.ID}, "ce-source": {e.Source}, "ce-type": {"callboard.transcript.changed"},
		"ce-time": {"2026-03-02T09:34:06.25Z"}, "Content-Type": {"application/json"}, "Nats-Msg-Id": {e.ID},
	}
	if !reflect.DeepEqual(m.Header, want) {
		t.Errorf("headers %v", m.Header)
	}
	if m.Subject != "phones.5d0c6a6e-27f1-4a4e-9d2b-0c8f3f1b7a10.transcript" {
		t.Errorf("subject %s", m.Subject)
	}
	if strings.Contains(string(m.Data), `"text"`) || strings.Contains(string(m.Data), `"turns"`) {
		t.Errorf("a claim check has no text and no turns: %s", m.Data)
	}
}

func TestEncode_RefusesWhatDecodeRefuses(t *testing.T) {
	call := *decoded(t, "call.changed").State.(*events.Call)
	call.FromName = events.Some("bad \xff text")
	unnamed := decoded(t, "call.changed")
	unnamed.ID = ""
	stray := decoded(t, "call.deleted")
	stray.Key = "not a UUID"
	orphan := decoded(t, "transcript.deleted")
	orphan.Key = "fax/5d0c6a6e-27f1-4a4e-9d2b-0c8f3f1b7a10"
	misfiled := decoded(t, "call.changed")
	misfiled.Entity = events.EntityVoicemail
	for name, e := range map[string]events.Event{
		"bad UTF-8": events.Changed(&call), "no ID": unnamed, "no key": stray, "no owner": orphan, "another entity": misfiled, "nothing": {},
	} {
		if m, err := events.Encode(e); err == nil {
			t.Errorf("%s: encoded as %s", name, m.Data)
		}
	}
}

// What is wrong with a message is told without telling what is in it.
func TestDecode_ProblemsNeverQuoteData(t *testing.T) {
	const canary = "sk-canary-9d41"
	for _, name := range fixtureNames(t) {
		body := string(fixtureBody(t, name))
		for _, wrong := range []string{`"` + canary, `"` + canary + `\ud800"`, `"` + canary + `\u0000"`, `"` + canary + `"`, `["` + canary + `"]`, canary, `{"a":"` + canary + `","a":1}`} {
			for at := range body {
				if !strings.HasPrefix(body[at:], `": `) {
					continue
				}
				m := fixture(t, name)
				m.Data = fmt.Append(nil, body[:at+3], wrong, body[at+3+strings.IndexAny(body[at+3:], ",\n"):])
				if _, err := events.Decode(m); err != nil && strings.Contains(err.Error(), "canary") {
					t.Fatalf("%s: %v", name, err)
				}
			}
		}
	}
}

func TestDecode_BoundsProblems(t *testing.T) {
	m := fixture(t, "group.changed")
	m.Data = []byte(`{"id":1,"version":1,"name":"x","phoneSystemIds":[` + strings.Repeat("1,", 100_000) + "1]}")
	_, err := events.Decode(m)
	var invalid *events.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Problems) != 101 || invalid.Problems[100].Detail != "and more" {
		t.Fatalf("error of %d bytes", len(err.Error()))
	}
	m.Data = []byte(`{"a\u0000b":{"x":tru}}`)
	if _, err := events.Decode(m); strings.ContainsRune(err.Error(), 0) {
		t.Errorf("NUL in %q", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range fixtureNames(f) {
		for _, m := range []events.Message{fixture(f, name), structured(f, name)} {
			f.Add(m.Subject, m.Header.Get("Content-Type"), m.Header.Get("ce-type"), m.Header.Get("ce-id"), m.Header.Get("ce-time"), m.Data)
		}
	}
	for _, r := range refusals() {
		m := r.message(f)
		f.Add(m.Subject, m.Header.Get("Content-Type"), m.Header.Get("ce-type"), m.Header.Get("ce-id"), m.Header.Get("ce-time"), m.Data)
	}
	f.Fuzz(func(t *testing.T, subject, contentType, ceType, id, at string, data []byte) {
		m := events.Message{Subject: subject, Data: data, Header: nats.Header{
			"ce-specversion": {"1.0"}, "ce-source": {"/fuzz"}, "ce-id": {id}, "ce-type": {ceType}, "ce-time": {at}, "Content-Type": {contentType},
		}}
		e, err := events.Decode(m)
		if err != nil {
			checkText(t, reflect.ValueOf(err).Elem())
			return
		}
		checkText(t, reflect.ValueOf(e))
		again, err := events.Encode(e)
		if err != nil {
			t.Fatalf("accepted, but not encoded: %v", err)
		}
		if got, err := events.Decode(again); err != nil || !sameEvent(got, e) {
			t.Fatalf("%v\n got %+v\nwant %+v\n%s", err, got.State, e.State, again.Data)
		}
	})
}

// checkText finds every string that a reader would store.
func checkText(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) || strings.ContainsRune(v.String(), 0) {
			t.Fatalf("text that no database keeps: %q", v.String())
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			checkText(t, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			checkText(t, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				checkText(t, v.Field(i))
			}
		}
	default:
	}
}
