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
		"ce-time": {"2026-03-02T09:34:06.25Z"}, "Content-Type": {"application/json"}, "Nats-Msg-Id": {e.ID},
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
					t.Fatalf("%s: error = %v, want no quotation of the data", name, err)
				}
			}
		}
	}
}

func TestDecode_LimitsProblems(t *testing.T) {
	m := fixture(t, "group.changed")
	m.Data = []byte(`{"id":1,"version":1,"name":"x","phoneSystemIds":[` + strings.Repeat("1,", 100_000) + "1]}")
	_, err := events.Decode(m)
	var invalid *events.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Problems) != 101 || invalid.Problems[100].Detail != "more problems are not listed" {
		t.Fatalf("error has %d bytes, want 101 problems", len(err.Error()))
	}
	m.Data = []byte(`{"a\u0000b":{"x":tru}}`)
	if _, err := events.Decode(m); strings.ContainsRune(err.Error(), 0) {
		t.Errorf("error = %q, want no NUL", err)
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
			t.Fatalf("Encode refuses a decoded event: %v", err)
		}
		if got, err := events.Decode(again); err != nil || !sameEvent(got, e) {
			t.Fatalf("state = %+v, %v\nwant %+v\n%s", got.State, err, e.State, again.Data)
		}
	})
}

// checkText fails if a string within v cannot be stored in PostgreSQL.
func checkText(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) || strings.ContainsRune(v.String(), 0) {
			t.Fatalf("text %q cannot be stored", v.String())
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

func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"call.changed", "transcript.changed", "phone.deleted"} {
		b.Run(name, func(b *testing.B) {
			m := fixture(b, name)
			b.SetBytes(int64(len(m.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := events.Decode(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, name := range []string{"call.changed", "transcript.changed"} {
		b.Run(name, func(b *testing.B) {
			e := decoded(b, name)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := events.Encode(e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
