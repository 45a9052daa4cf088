package events_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"callboard/events"
)

func TestDecode_Refuses(t *testing.T) {
	for _, r := range refusals() {
		t.Run(r.name, func(t *testing.T) { checkProblems(t, r.message(t), r.problems) })
	}
}

func checkProblems(t *testing.T, m events.Message, want string) {
	t.Helper()
	_, err := events.Decode(m)
	var invalid *events.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("error = %v, want an InvalidError", err)
	}
	if err.Error() != want {
		t.Errorf("error = %s\nwant    %s", err, want)
	}
}

func TestDecode_RefusesBodiesThatAreNoObject(t *testing.T) {
	for body, want := range map[string]string{
		"":          "not JSON: unexpected end of data",
		" \n":       "not JSON: unexpected end of data",
		"{":         "not JSON: unexpected end of data",
		`{"id":`:    "/id: not JSON: unexpected end of data",
		"null":      "must be an object",
		`"call"`:    "must be an object",
		"[]":        "must be an object",
		"{}{}":      "not JSON: data after the JSON value",
		"{} x":      "not JSON: data after the JSON value",
		"{'id': 1}": "not JSON: invalid character",
		"\ufeff{}":  "not JSON: invalid character",
	} {
		m := fixture(t, "call.changed")
		m.Data = []byte(body)
		checkProblems(t, m, want)
	}
}

func TestDecode_RefusesSubjects(t *testing.T) {
	const other = "7a1be0c3-90ad-4d3f-8a5e-2f6d1f9e4c22"
	for _, c := range []struct{ fixture, subject, want string }{
		{"call.changed", "phones." + other + ".call", "subject: names another phone system than the data"},
		{"call.changed", "phones.5D0C6A6E-27F1-4A4E-9D2B-0C8F3F1B7A10.call", "subject: names another phone system than the data"},
		{"call.changed", "phones.global.call", "subject: names another phone system than the data"},
		{"call.changed", "phones.5d0c6a6e-27f1-4a4e-9d2b-0c8f3f1b7a10.voicemail", "subject: names another entity than the event's type"},
		{"call.changed", "phones.3." + other + ".call", "subject: names another phone system than the data"},
		{"call.changed", "phones.1.3.5d0c6a6e-27f1-4a4e-9d2b-0c8f3f1b7a10.call", "subject: must be phones.<system>.<entity>"},
		{"call.changed", "phones.call", "subject: must be phones.<system>.<entity>"},
		{"call.changed", "orders." + other + ".call", "subject: must be phones.<system>.<entity>"},
		{"call.changed", "", "subject: must be phones.<system>.<entity>"},
		{"phone-system.changed", "phones." + other + ".phone-system", "subject: names another phone system than the data"},
		{"group.changed", "phones." + other + ".group", "subject: names another phone system than the data"},
		{"classification.changed", "phones.global.classification", "subject: names another phone system than the data"},
		{"classification.global.changed", "phones." + other + ".classification", "subject: names another phone system than the data"},
	} {
		m := fixture(t, c.fixture)
		m.Subject = c.subject
		checkProblems(t, m, c.want)
	}
	global := refusal{"", "representative.changed", "5d0c6a6e-27f1-4a4e-9d2b-0c8f3f1b7a10", "00000000-0000-0000-0000-000000000000", "", false}.message(t)
	global.Subject = "phones.global.representative"
	checkProblems(t, global, "subject: only groups and classifications are global")
}

func TestDecode_RefusesHeaders(t *testing.T) {
	const unknown = "header:ce-type: must be callboard.<entity>.changed or callboard.<entity>.deleted of a known entity"
	for _, c := range []struct{ header, value, want string }{
		{"ce-type", "callboard.fax.changed", unknown},
		{"ce-type", "callboard.call.updated", unknown},
		{"ce-type", "acme.call.changed", unknown},
		{"ce-type", "", unknown},
		{"ce-specversion", "0.3", `header:ce-specversion: must be "1.0"`},
		{"ce-id", "", "header:ce-id: is required"},
		{"ce-id", strings.Repeat("x", 1025), "header:ce-id: must have at most 1024 bytes"},
		{"ce-id", "a\nb", "header:ce-id: must be UTF-8 without control characters or spaces around it"},
		{"ce-source", "", "header:ce-source: is required"},
		{"ce-source", "\xff", "header:ce-source: must be UTF-8 without control characters or spaces around it"},
		{"ce-time", "yesterday", "header:ce-time: must be an RFC 3339 time"},
		{"ce-time", "9999-12-31T23:59:59-01:00", "header:ce-time: must be an RFC 3339 time"},
		{"Content-Type", "text/plain", "header:Content-Type: must be application/json or application/cloudevents+json"},
	} {
		m := fixture(t, "call.changed")
		m.Header[c.header] = []string{c.value}
		checkProblems(t, m, c.want)
	}
	m := fixture(t, "call.changed")
	for _, name := range []string{"Nats-Stream", "nats-subject", "NATS-SEQUENCE", "Nats-Time-Stamp"} {
		m := fixture(t, "call.changed")
		m.Header[name] = []string{"PHONES"}
		if _, err := events.Decode(m); err == nil || !strings.Contains(err.Error(), "must be absent: a server sets it on its copy") {
			t.Errorf("%s: error = %v, want a refusal of the server's copy", name, err)
		}
	}
	m.Header["Nats-Stream-Source"] = []string{"PHONES 1"}
	if _, err := events.Decode(m); err != nil {
		t.Errorf("a stream's source: %v", err)
	}
	m.Header = nil
	checkProblems(t, m, `header:ce-specversion: must be "1.0"; header:ce-id: is required; header:ce-source: is required; `+unknown)
}

func TestDecode_AcceptsHeadersInAnyCase(t *testing.T) {
	want := decoded(t, "call.changed")
	m := fixture(t, "call.changed")
	changed := nats.Header{}
	for i, name := range []string{"Ce-Specversion", "CE-ID", "Ce-Source", "cE-tYpE", "Ce-Time", "content-type"} {
		changed[name] = m.Header[[]string{"ce-specversion", "ce-id", "ce-source", "ce-type", "ce-time", "Content-Type"}[i]]
	}
	changed["content-type"] = []string{"Application/JSON; charset=utf-8"}
	m.Header = changed
	got, err := events.Decode(m)
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != want.ID || got.Source != want.Source || !got.Time.Equal(want.Time) || got.Identity != want.Identity {
		t.Errorf("event = %+v, want %+v", got, want)
	}
}

func TestDecode_NegativeZeroBecomesZero(t *testing.T) {
	e, err := events.Decode(refusal{"-0", "analysis.changed", `91.5`, `-0.0`, "", false}.message(t))
	if err != nil {
		t.Fatal(err)
	}
	if score := e.State.(*events.Analysis).ScorecardScore; score.Value != 0 || !score.Valid || math.Signbit(score.Value) {
		t.Errorf("-0.0 = %v, want 0", score)
	}
}

func TestDecode_Accepts(t *testing.T) {
	for _, c := range []struct{ name, fixture, old, new string }{
		{"members in another order", "phone-system.changed", `"name": "Harbor Dental",` + "\n" + `  "organizationId": "9c1f0f0e-6a83-4c6b-8d0e-58c4b2b1f001"`,
			`"organizationId": "9c1f0f0e-6a83-4c6b-8d0e-58c4b2b1f001", "name": "Harbor Dental"`},
		{"unknown members", "phone-system.changed", `"version"`, `"colour": {"of": ["the", {"wall": null}]}, "version"`},
		{"a UUID in capitals", "phone-system.changed", `9c1f0f0e-6a83`, `9C1F0F0E-6A83`},
		{"the zone written out", "call.changed", `09:30:00.000Z`, `09:30:00.000+00:00`},
		{"a fraction finer than milliseconds", "call.changed", `09:30:00.000Z`, `09:30:00.000999999Z`},
		{"a time without fraction", "call.changed", `09:30:00.000Z`, `09:30:00Z`},
		{"an absent nullable", "phone.changed", `"serialNumber": null`, `"serial": 7`},
		{"an escaped string", "phone-system.changed", `Harbor Dental`, `\u0048arbor\u0020Dental`},
		{"a speaker with unused members", "transcript.changed", `"kind": "unattributed"`, `"kind": "unattributed", "role": "agent", "ordinal": "x"`},
	} {
		got, err := events.Decode(refusal{c.name, c.fixture, c.old, c.new, "", false}.message(t))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if want := decoded(t, c.fixture); !sameEvent(got, want) {
			t.Errorf("%s: state = %+v\nwant %+v", c.name, got.State, want.State)
		}
	}
}

// sameEvent compares events; times compare as instants.
func sameEvent(a, b events.Event) bool {
	sameTime := a.Time.Equal(b.Time)
	a.Time = b.Time
	return sameTime && reflect.DeepEqual(a, b)
}

// structured returns a fixture in structured mode.
func structured(tb testing.TB, name string) events.Message {
	tb.Helper()
	m := fixture(tb, name)
	m.Data = fmt.Appendf(nil, `{"specversion": "1.0", "id": %q, "source": %q, "type": %q, "time": %q, "datacontenttype": "application/json", "data": %s}`,
		m.Header.Get("ce-id"), m.Header.Get("ce-source"), m.Header.Get("ce-type"), m.Header.Get("ce-time"), m.Data)
	m.Header = nats.Header{"Content-Type": {"application/cloudevents+json; charset=UTF-8"}}
	return m
}

func TestDecode_AcceptsStructuredMode(t *testing.T) {
	for _, name := range fixtureNames(t) {
		got, err := events.Decode(structured(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if want := decoded(t, name); !sameEvent(got, want) {
			t.Errorf("%s: event = %+v\nwant %+v", name, got, want)
		}
	}
}

func TestDecode_RefusesStructuredMode(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"data":`, `"data_base64":`, "/data: is required"},
		{`"data": {`, `"data": "x", "was": {`, "/data: must be an object"},
		{`"specversion": "1.0"`, `"specversion": "0.3"`, `/specversion: must be "1.0"`},
		{`"specversion": "1.0"`, `"specversion": 1.0`, `/specversion: must be a string`},
		{`"id": "01J5Y7Q4M8-call.changed"`, `"id": ""`, "/id: must not be empty"},
		{`"id": "01J5Y7Q4M8-call.changed"`, `"id": "a\nb"`, "/id: must be UTF-8 without control characters or spaces around it"},
		{`"source": "/platform/test"`, `"from": 1`, "/source: is required"},
		{`callboard.call.changed",`, `call",`, "/type: must be callboard.<entity>.changed or callboard.<entity>.deleted of a known entity"},
		{`"time": "2026-`, `"time": "`, "/time: must be an RFC 3339 time"},
		{`"version": 1740907800456001`, `"version": "x"`, "/data/version: must be an integer"},
		{`"name": "New patient"`, `"name": 1`, "/data/tags/0/name: must be a string"},
	} {
		m := structured(t, "call.changed")
		if !strings.Contains(string(m.Data), c.old) {
			t.Fatalf("%s is not in %s", c.old, m.Data)
		}
		m.Data = []byte(strings.Replace(string(m.Data), c.old, c.new, 1))
		checkProblems(t, m, c.want)
	}
	m := structured(t, "call.changed")
	m.Data = []byte("[]")
	checkProblems(t, m, "must be an object")
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
	m.Data = []byte(`{"id":1,"version":1,"name":"x","phoneSystemIds":[` + strings.Repeat("1,", 999) + "1]}")
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

// BenchmarkDecode decodes one message again and again, with one Decoder.
func BenchmarkDecode(b *testing.B) {
	for _, name := range fixtureNames(b) {
		b.Run(name, func(b *testing.B) {
			var d events.Decoder
			m := fixture(b, name)
			b.SetBytes(int64(len(m.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Decode(m); err != nil {
					b.Fatal(err)
				}
			}
		})
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
		checkAgreement(t, new(events.Decoder), m)
		var e events.Event
		var err error
		most := min(maxDecodeMemory, 1<<20+200*int64(len(data)))
		if allocated := allocatedBy(func() { e, err = events.Decode(m) }); allocated > most {
			t.Fatalf("%d bytes of data: Decode allocates %d bytes, want at most %d", len(data), allocated, most)
		}
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
