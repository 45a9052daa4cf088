package events_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"callboard/events"
)

const (
	system = "7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10"
	group  = "0b9f5d0e-2a43-4a0e-8a53-5c1b9c0d1e2f"
)

// A line with the data of a fixture is its event.
func TestDecodeLine(t *testing.T) {
	for _, name := range fixtureNames(t) {
		m, want := fixture(t, name), decoded(t, name)
		got, err := events.DecodeLine(fmt.Appendf(nil, `{"type":%q,"data":%s}`, want.Type(), m.Data), "test")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		subject := events.Subject(got.System, got.Entity)
		if got.ID == "" || got.Source != "test" || subject != m.Subject {
			t.Errorf("%s: id = %q, source = %s, subject = %s, want an id, test and %s",
				name, got.ID, got.Source, subject, m.Subject)
		}
		got.ID, got.Source, got.Time = want.ID, want.Source, want.Time
		if !sameEvent(got, want) {
			t.Errorf("%s: event = %+v\nwant %+v", name, got, want)
		}
	}
}

// A line may name its event, the time and the phone system, here in capitals.
func TestDecodeLine_Attributes(t *testing.T) {
	line := `{"type":"callboard.call.deleted","id":"one","time":"2026-03-01T10:00:00.5Z",` +
		`"system":"` + strings.ToUpper(system) + `","data":{"id":"` + group + `","phoneSystemId":"` + system + `","version":2}}`
	e, err := events.DecodeLine([]byte(line), "test")
	want := time.Date(2026, time.March, 1, 10, 0, 0, 5e8, time.UTC)
	if err != nil || e.ID != "one" || !e.Time.Equal(want) || e.System.String() != system {
		t.Errorf("id = %q, time = %s, system = %s, %v, want one, %s and %s", e.ID, e.Time, e.System, err, want, system)
	}
}

func TestDecodeLine_ReportsTheFirstProblem(t *testing.T) {
	deletion := `{"id":"` + group + `","phoneSystemId":"` + system + `","version":2}`
	for _, c := range []struct{ name, line, pointer, want string }{
		{"not JSON", `hello`, "", "not JSON"},
		{"incomplete JSON", `{"type":"x"`, "", "not JSON"},
		{"an array", `[]`, "", "must be an object"},
		{"an unknown member", `{"type":"callboard.call.deleted","data":` + deletion + `,"sistem":"x"}`, "/sistem", "unknown member"},
		{"a member of the wrong type", `{"type":7,"data":{}}`, "/type", "must be a string"},
		{"a member twice", `{"type":"callboard.call.deleted","type":"y","data":{}}`, "/type", "duplicate"},
		{"a member twice in the data", `{"type":"callboard.group.deleted","data":{"id":"` + group + `","version":1,"version":2}}`, "/data/version", "duplicate"},
		{"no type", `{"data":` + deletion + `}`, "/type", "is required"},
		{"an unknown type", `{"type":"callboard.cal.changed","data":` + deletion + `}`, "/type", "must be callboard.<entity>"},
		{"no data", `{"type":"callboard.call.deleted"}`, "/data", "is required"},
		{"data of the wrong type", `{"type":"callboard.call.deleted","data":7}`, "/data", "must be an object"},
		{"no version", `{"type":"callboard.group.deleted","data":{"id":"` + group + `"}}`, "/data/version", "is required"},
		{"no system", `{"type":"callboard.call.deleted","data":{"id":"` + group + `","version":2}}`, "/data/phoneSystemId", "is required"},
		{"two different systems", `{"type":"callboard.call.deleted","system":"` + group + `","data":` + deletion + `}`, "/system", "another phone system than the data"},
		{"an invalid system", `{"type":"callboard.call.deleted","system":"a.b c","data":` + deletion + `}`, "/system", "another phone system than the data"},
		{"an empty id", `{"type":"callboard.call.deleted","id":"","data":` + deletion + `}`, "/id", "is required"},
		{"an invalid time", `{"type":"callboard.call.deleted","time":"noon","data":` + deletion + `}`, "/time", "RFC 3339"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := events.DecodeLine([]byte(c.line), "test")
			var invalid *events.InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("error = %v, want an InvalidError", err)
			}
			first := invalid.Problems[0]
			if first.Pointer != c.pointer || !strings.Contains(first.Detail, c.want) {
				t.Errorf("first problem = %+v, want %q at %q", first, c.want, c.pointer)
			}
			if c.pointer == "/type" && len(invalid.Problems) != 1 {
				t.Errorf("problems = %v, want none of data of no type", invalid.Problems)
			}
		})
	}
}
