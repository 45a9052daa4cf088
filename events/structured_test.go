package events_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"callboard/events"
)

// sameEvent compares events; times compare as instants.
func sameEvent(a, b events.Event) bool {
	sameTime := a.Time.Equal(b.Time)
	a.Time = b.Time
	return sameTime && reflect.DeepEqual(a, b)
}

// structured is a fixture as one body of attributes and data.
func structured(tb testing.TB, name string) events.Message {
	tb.Helper()
	m := fixture(tb, name)
	m.Data = fmt.Appendf(nil, `{"specversion": "1.0", "id": %q, "source": %q, "type": %q, "time": %q, "datacontenttype": "application/json", "data": %s}`,
		m.Header.Get("ce-id"), m.Header.Get("ce-source"), m.Header.Get("ce-type"), m.Header.Get("ce-time"), m.Data)
	m.Header = nats.Header{"Content-Type": {"application/cloudevents+json; charset=UTF-8"}}
	return m
}

func TestDecode_ReadsStructuredMode(t *testing.T) {
	for _, name := range fixtureNames(t) {
		got, err := events.Decode(structured(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if want := decoded(t, name); !sameEvent(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
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
			t.Fatalf("no %s in %s", c.old, m.Data)
		}
		m.Data = []byte(strings.Replace(string(m.Data), c.old, c.new, 1))
		checkProblems(t, m, c.want)
	}
	m := structured(t, "call.changed")
	m.Data = []byte("[]")
	checkProblems(t, m, "must be an object")
}
