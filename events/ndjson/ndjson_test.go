package ndjson_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"callboard/events"
	"callboard/events/ndjson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	system = "7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10"
	group  = "0b9f5d0e-2a43-4a0e-8a53-5c1b9c0d1e2f"
)

func TestDecode(t *testing.T) {
	for _, c := range []struct{ name, line, subject, ceType string }{
		{
			"a phone system is its own",
			`{"type":"callboard.phone-system.changed","data":{"id":"` + system + `","version":1,"name":"A"}}`,
			"phones." + system + ".phone-system", "callboard.phone-system.changed",
		},
		{
			"upper case",
			`{"type":"callboard.phone-system.changed","data":{"id":"` + strings.ToUpper(system) + `","version":1,"name":"A"}}`,
			"phones." + system + ".phone-system", "callboard.phone-system.changed",
		},
		{
			"a group is global",
			`{"type":"callboard.group.changed","data":{"id":"` + group + `","version":1,"name":"G","phoneSystemIds":["` + system + `"]}}`,
			"phones.global.group", "callboard.group.changed",
		},
		{
			"a classification of a system",
			`{"type":"callboard.classification.deleted","data":{"kind":"category","code":"x","version":2,"phoneSystemId":"` + system + `"}}`,
			"phones." + system + ".classification", "callboard.classification.deleted",
		},
		{
			"a classification of all",
			`{"type":"callboard.classification.deleted","data":{"kind":"category","code":"x","version":2,"phoneSystemId":null}}`,
			"phones.global.classification", "callboard.classification.deleted",
		},
		{
			"a system that is named",
			`{"type":"callboard.call.deleted","system":"` + strings.ToUpper(system) + `","data":{"id":"` + group + `","phoneSystemId":"` + system + `","version":2}}`,
			"phones." + system + ".call", "callboard.call.deleted",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := ndjson.Decode([]byte(c.line), "test")
			if err != nil {
				t.Fatal(err)
			}
			if got := events.Subject(e.System, e.Entity); got != c.subject || e.Type() != c.ceType || e.Source != "test" || e.ID == "" {
				t.Errorf("%s %s %s %s", got, e.Type(), e.Source, e.ID)
			}
		})
	}
}

func TestDecode_IDAndTime(t *testing.T) {
	e, err := ndjson.Decode([]byte(`{"type":"callboard.group.deleted","id":"mine","time":"2026-03-01T10:00:00.5Z","data":{"id":"`+group+`","version":2}}`), "test")
	want := time.Date(2026, time.March, 1, 10, 0, 0, 5e8, time.UTC)
	if err != nil || e.ID != "mine" || !e.Time.Equal(want) {
		t.Errorf("%q %s, %v", e.ID, e.Time, err)
	}
}

func TestDecode_Faults(t *testing.T) {
	deletion := `{"id":"` + group + `","phoneSystemId":"` + system + `","version":2}`
	for _, c := range []struct{ name, line, pointer, says string }{
		{"no JSON", `hello`, "", "is not JSON"},
		{"cut short", `{"type":"x"`, "", "is not JSON"},
		{"an array", `[]`, "", "wrong type"},
		{"a member too many", `{"type":"callboard.call.deleted","data":` + deletion + `,"sistem":"x"}`, "/sistem", "no such member"},
		{"a member of the wrong type", `{"type":7,"data":{}}`, "/type", "wrong type"},
		{"a member twice", `{"type":"callboard.call.deleted","type":"y","data":{}}`, "/type", "duplicate"},
		{"a member twice in the data", `{"type":"callboard.group.deleted","data":{"id":"` + group + `","version":1,"version":2}}`, "/data/version", "duplicate"},
		{"no type", `{"data":` + deletion + `}`, "/type", "must be callboard.<entity>"},
		{"an unknown type", `{"type":"callboard.cal.changed","data":` + deletion + `}`, "/type", "must be callboard.<entity>"},
		{"no data", `{"type":"callboard.call.deleted"}`, "/data", "is required"},
		{"data that is none", `{"type":"callboard.call.deleted","data":7}`, "/data", "must be an object"},
		{"no version", `{"type":"callboard.group.deleted","data":{"id":"` + group + `"}}`, "/data/version", "is required"},
		{"no system anywhere", `{"type":"callboard.call.deleted","data":{"id":"` + group + `","version":2}}`, "/data/phoneSystemId", "is required"},
		{"two systems", `{"type":"callboard.call.deleted","system":"` + group + `","data":` + deletion + `}`, "/system", "another phone system than the data"},
		{"a system that is none", `{"type":"callboard.call.deleted","system":"a.b c","data":` + deletion + `}`, "/system", ""},
		{"an empty id", `{"type":"callboard.call.deleted","id":"","data":` + deletion + `}`, "/id", ""},
		{"a time that is none", `{"type":"callboard.call.deleted","time":"noon","data":` + deletion + `}`, "/time", "RFC 3339"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ndjson.Decode([]byte(c.line), "test")
			var invalid *events.InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("%v", err)
			}
			first := invalid.Problems[0]
			if first.Pointer != c.pointer || !strings.Contains(first.Detail, c.says) {
				t.Errorf("%+v, want %q %q", first, c.pointer, c.says)
			}
		})
	}
}

func TestRead_StopsAtTheFirstBadLine(t *testing.T) {
	good := `{"type":"callboard.group.deleted","data":{"id":"` + group + `","version":2}}`
	input := strings.NewReader(good + "\n\n  \n" + good + "\nbad\n" + good + "\n")
	var numbers []int
	var last error
	for line := range ndjson.Read(t.Context(), input, "test") {
		numbers = append(numbers, line.Number)
		last = line.Err
	}
	if len(numbers) != 3 || numbers[1] != 4 || numbers[2] != 5 || last == nil {
		t.Errorf("lines %v, %v", numbers, last)
	}
}

func TestRead_LastLineWithoutBreak(t *testing.T) {
	n := 0
	for line := range ndjson.Read(t.Context(), strings.NewReader(`{"type":"callboard.group.deleted","data":{"id":"`+group+`","version":2}}`), "test") {
		if line.Err != nil {
			t.Error(line.Err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d lines", n)
	}
}

func TestRead_BrokenInput(t *testing.T) {
	broken := errors.New("broken")
	r, w := io.Pipe()
	w.CloseWithError(broken)
	for line := range ndjson.Read(t.Context(), r, "test") {
		if !errors.Is(line.Err, broken) {
			t.Errorf("%v", line.Err)
		}
	}
}

// Nobody takes the lines, so only the end of the context ends the reading.
func TestRead_EndsWithItsContext(t *testing.T) {
	good := `{"type":"callboard.group.deleted","data":{"id":"` + group + `","version":2}}` + "\n"
	ctx, cancel := context.WithCancel(t.Context())
	lines := ndjson.Read(ctx, strings.NewReader(strings.Repeat(good, 1000)), "test")
	cancel()
	for range lines {
		continue // what was read before
	}
}
