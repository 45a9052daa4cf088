package events_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
)

// limitCase is an event with a part of any size.
type limitCase struct {
	name, fixture, member string // the first member of this name is replaced
	value                 func(n int) string
	limit                 int
	problem               string
}

func limitCases() []limitCase {
	text := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	elements := func(element string) func(n int) string {
		return func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]" }
	}
	id := `"` + uuid.Max.String() + `"`
	reference := `{"type":"phone","id":` + id + `,"phoneSystemId":` + id + `}`
	tag := func(n int) string {
		return fmt.Sprintf(`{"id":%s,"name":%s,"group":"","color":"","source":""}`, id, text(n))
	}
	return []limitCase{
		{"a name", "phone-system.changed", "name", text, 1024, "/name: must have at most 1024 bytes"},
		{"a status", "phone.changed", "status", text, 1024, "/status: must have at most 1024 bytes"},
		{"a number", "extension.changed", "number", text, 1024, "/number: must have at most 1024 bytes"},
		{"a code", "classification.changed", "code", text, 1024, "/code: must have at most 1024 bytes"},
		{"a call's callSid", "call.changed", "callSid", text, 64, "/callSid: must have at most 64 characters"},
		{"a call's parentCallSid", "call.changed", "parentCallSid", text, 64, "/parentCallSid: must have at most 64 characters"},
		{"an analysis's callSid", "analysis.changed", "callSid", text, 64, "/callSid: must have at most 64 characters"},
		{"a voicemail's callSid", "voicemail.changed", "callSid", text, 64, "/callSid: must have at most 64 characters"},
		{"the name of a claim check's entry", "transcript.claim-check.changed", "name", text, 512, "/object/name: must have at most 512 bytes"},
		{"an audio key", "recording.changed", "key", text, 1024, "/audio/key: must have at most 1024 bytes"},
		{"a route", "call.changed", "routeSummary", text, 8192, "/routeSummary: must have at most 8192 bytes"},
		{"members", "call-group.changed", "members", elements(reference), 1000, "/members: must have at most 1000 elements"},
		{
			"choices", "call-menu.changed", "choices", elements(`{"digit":"1","action":{"type":"hangup"}}`), 1000,
			"/choices: must have at most 1000 elements",
		},
		{"assigned phones", "extension.changed", "assignedPhoneIds", elements(id), 1000, "/assignedPhoneIds: must have at most 1000 elements"},
		{"phone systems of a group", "group.changed", "phoneSystemIds", elements(id), 1000, "/phoneSystemIds: must have at most 1000 elements"},
		{"tags", "call.changed", "tags", elements(tag(1)), 200, "/tags: must have at most 200 elements"},
		{"coaching tips", "analysis.changed", "coachingTips", elements(`"x"`), 100, "/coachingTips: must have at most 100 elements"},
		{"turns", "transcript.changed", "turns", elements(`{}`), 50_000, "/turns: must have at most 50000 elements"},
	}
}

// with returns a fixture's message with a member's first value replaced.
func with(tb testing.TB, name, member, value string) events.Message {
	tb.Helper()
	m := fixture(tb, name)
	before, rest, found := strings.Cut(string(m.Data), `"`+member+`":`)
	if !found {
		tb.Fatalf("%s has no member %s", name, member)
	}
	decoder := json.NewDecoder(strings.NewReader(rest))
	var old json.RawMessage
	if err := decoder.Decode(&old); err != nil {
		tb.Fatal(err)
	}
	m.Data = []byte(before + `"` + member + `":` + value + rest[decoder.InputOffset():])
	return m
}

// The JSON Schemas count characters, which are bytes here.
func TestLimits_DecodeAndTheSchemasAgree(t *testing.T) {
	of := schemas(t)
	for _, c := range limitCases() {
		t.Run(c.name, func(t *testing.T) {
			if c.fixture != "transcript.changed" { // turns without members are valid nowhere
				m := with(t, c.fixture, c.member, c.value(c.limit))
				if _, err := events.Decode(m); err != nil {
					t.Errorf("of %d: Decode = %v, want no error", c.limit, err)
				}
				if err := of(c.fixture).Validate(jsonValue(t, m.Data)); err != nil {
					t.Errorf("of %d: schema = %v, want no error", c.limit, err)
				}
			}
			m := with(t, c.fixture, c.member, c.value(c.limit+1))
			checkProblems(t, m, c.problem)
			if of(c.fixture).Validate(jsonValue(t, m.Data)) == nil {
				t.Errorf("of %d: the schema accepts it, want a refusal", c.limit+1)
			}
		})
	}
}

// What a text takes as JSON is limited where texts count together.
func TestLimits_OfTextsTogether(t *testing.T) {
	const quotes = 2
	// list returns elements of which each has a text of at most 1,000 bytes, and counts empty ones beside it.
	list := func(element string, empty int) func(size int) string {
		counted := (empty + 1) * quotes
		return func(size int) string {
			var elements []string
			for ; size > 0; size -= counted + 1000 {
				elements = append(elements, fmt.Sprintf(element, strings.Repeat("x", min(1000, size-counted))))
			}
			return "[" + strings.Join(elements, ",") + "]"
		}
	}
	tags := list(`{"id":"`+uuid.Max.String()+`","name":"%s","group":"","color":"","source":""}`, 3)
	choices := list(`{"digit":"1","label":"%s","action":{"type":"hangup"}}`, 1)
	tip := func(size int) string { return `["` + strings.Repeat("x", size-quotes) + `"]` }
	escaped := func(size int) string { // \u0001 has six bytes as JSON, and one as text
		return `"` + strings.Repeat(`\u0001`, (size-quotes)/6) + strings.Repeat("x", (size-quotes)%6) + `"`
	}
	const noTurns = len("[]")
	for _, c := range []struct {
		name, fixture, member string
		value                 func(size int) string
		limit                 int
		problem               string
	}{
		{"tags", "call.changed", "tags", tags, 65536, "/tags: texts must have at most 65536 bytes as JSON"},
		{
			"choices", "call-menu.changed", "choices", choices, 65536,
			"/choices: labels and literals must have at most 65536 bytes as JSON",
		},
		{"coaching tips", "analysis.changed", "coachingTips", tip, 32768, "/coachingTips: must have at most 32768 bytes as JSON"},
		{
			"a transcript", "transcript.claim-check.changed", "object",
			func(size int) string { return `null,"turns":[],"text":` + escaped(size-noTurns) }, 5_000_000,
			"/text: text and turns must have at most 5000000 bytes together as JSON",
		},
	} {
		if _, err := events.Decode(with(t, c.fixture, c.member, c.value(c.limit))); err != nil {
			t.Errorf("%s of %d bytes: %v", c.name, c.limit, err)
		}
		checkProblems(t, with(t, c.fixture, c.member, c.value(c.limit+1)), c.problem)
	}
}

// A claim check's body has the limits of a message.
func TestLimits_OfBodies(t *testing.T) {
	turn := `{"text":"` + strings.Repeat("x", 1000) + `","speaker":{"kind":"unattributed"}}`
	for _, c := range []struct{ name, body, problem string }{
		{"text", `{"text":"` + strings.Repeat("x", 5_000_000) + `"}`, "/text: text and turns must have at most 5000000 bytes together as JSON"},
		{"turns", `{"turns":[` + strings.Repeat(turn+",", 5000) + turn + `]}`, "/text: text and turns must have at most 5000000 bytes together as JSON"},
		{"values", `{"x":[` + strings.Repeat("1,", 200_000) + `1]}`, "must have at most 200000 values"},
		{"bytes", `{"x":"` + strings.Repeat("x", events.MaxBodyBytes) + `"}`, "must have at most 8388608 bytes"},
	} {
		var transcript events.Transcript
		if err := transcript.ReadBody([]byte(c.body)); err == nil || err.Error() != c.problem {
			t.Errorf("%s: error = %v, want %s", c.name, err, c.problem)
		}
	}
}

func TestLimits_OfValues(t *testing.T) {
	m := fixture(t, "phone-system.changed")
	m.Data = []byte(`{"id":"5d0c6a6e-27f1-4a4e-9d2b-0c8f3f1b7a10","version":1,"name":"x","more":[` + strings.Repeat("1,", 199_994) + "1]}")
	if _, err := events.Decode(m); err != nil {
		t.Errorf("200,000 values: %v", err)
	}
	m.Data = []byte(strings.Replace(string(m.Data), "[1", "[1,1", 1))
	checkProblems(t, m, "must have at most 200000 values")
}

// asyncapi.yaml has the limits in a table.
func TestLimits_AreInTheAsyncAPIDocument(t *testing.T) {
	_, table, _ := strings.Cut(string(documentText(t, "asyncapi.yaml")), "a text without a limit of its own")
	limits := []int{65_536, 32_768, 5_000_000, 200_000, events.MaxBodyBytes}
	for _, c := range limitCases() {
		limits = append(limits, c.limit)
	}
	for _, limit := range limits {
		digits := strconv.Itoa(limit)
		for at := len(digits) - 3; at > 0; at -= 3 {
			digits = digits[:at] + "," + digits[at:]
		}
		if !strings.Contains(table, " "+digits+" ") {
			t.Errorf("asyncapi.yaml lacks the limit %s", digits)
		}
	}
}

// A withheld number is null or absent.
func TestDecode_AcceptsAWithheldCaller(t *testing.T) {
	for _, m := range []events.Message{
		with(t, "call.changed", "from", "null"), with(t, "call.changed", "to", "null"), with(t, "voicemail.changed", "from", "null"),
	} {
		e, err := events.Decode(m)
		if err != nil {
			t.Errorf("%s: %v", m.Data, err)
			continue
		}
		again, err := events.Encode(e)
		if err != nil || !strings.Contains(string(again.Data), `:null`) {
			t.Errorf("encoded = %s, %v, want null", again.Data, err)
		}
	}
}

// asyncapi.yaml says how publishers in other languages compute the Nats-Msg-Id, with an example.
func TestMessageID_IsThatOfTheAsyncAPIDocument(t *testing.T) {
	text, id := string(documentText(t, "asyncapi.yaml")), events.MessageID("/pbx/calls", "1001")
	if want := "a854d9799c4c0feac39f12049deaf5df"; id != want || !strings.Contains(text, "examples: ['"+want+"']") {
		t.Errorf("id = %s, want %s, the example of asyncapi.yaml", id, want)
	}
	if other := events.MessageID("/transcriber", "1001"); other == id {
		t.Errorf("id of another source = %s, want a different one", other)
	}
}
