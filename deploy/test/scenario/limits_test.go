package scenario_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

// Every text, list and transcript at its limit is stored, whatever index it is in, and served in every form.
func TestLimits_LargestEventsAreServed(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	text := strings.Repeat("\x01", 1024) // has six bytes a character as JSON
	some := events.Some(text)
	system, call, group, person := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	sid := strings.Repeat("\U0001f600", 64)
	var indexed string // PostgreSQL compresses it as little as it can
	for len(indexed) < 1024 {
		indexed += uuid.NewString()
	}
	indexed = indexed[:1024]
	at := events.TimeOf(time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC))

	members := make([]events.Reference, 1000)
	for i := range members {
		members[i] = events.Reference{Type: "extension", ID: call, PhoneSystemID: system}
	}
	tags := make([]events.Tag, 200)
	for i := range tags {
		tags[i] = events.Tag{ID: call, Name: strings.Repeat("x", 65536/200-4*2)}
	}
	largest := []events.State{
		&events.PhoneSystem{ID: system, Version: 1, Name: text},
		&events.Extension{ID: call, PhoneSystemID: system, Version: 1, Number: indexed, Name: text, Status: indexed},
		&events.CallGroup{ID: group, PhoneSystemID: system, Version: 1, Number: indexed, Name: text, Status: indexed, Members: members, RingPattern: text},
		&events.Representative{ID: person, PhoneSystemID: system, Version: 1, Name: text, Status: text},
		&events.Classification{PhoneSystemID: events.Some(system), Version: 1, Kind: "category", Code: indexed, Label: text, Status: text},
		&events.Call{
			ID: call, PhoneSystemID: system, Version: 1, CallSid: sid, ParentCallSid: events.Some(sid), Direction: "inbound", Status: text,
			Outcome: some, From: some, FromDisplay: some, FromNumber: some, FromName: some, To: some, ToDisplay: some, ToNumber: some,
			ForwardedFrom: some, CreatedAt: at, CallGroupID: events.Some(group), AnsweredByExtensionID: events.Some(call),
			FromExtensionID: events.Some(call), RouteSummary: events.Some(strings.Repeat("\x01", 8192)), CallOutcomeCode: some,
			OutcomeSource: some, Tags: tags,
		},
		&events.Analysis{
			ID: call, PhoneSystemID: system, Version: 1, CallID: call, CallSid: sid, Status: events.AnalysisCompleted, CreatedAt: at,
			CoachingTips: []string{strings.Repeat("x", 32768-2)}, Category: events.Some(indexed), SentimentSource: some,
			OverallSentiment: &events.Sentiment{Code: indexed}, EmployeeSentiment: &events.Sentiment{Code: indexed},
			CustomerSentiment: &events.Sentiment{Code: indexed},
			Representative:    &events.RepresentativeRole{State: "identified", ID: events.Some(person), Source: some},
		},
		&events.Transcript{
			PhoneSystemID: system, CallID: events.Some(call), Version: 1, Status: events.TranscriptCompleted,
			Text: events.Some(strings.Repeat("x", 5_000_000-len(`""`)-len("[]"))),
		},
	}
	for _, state := range largest {
		h.Publish(events.Changed(state))
	}
	h.apply(events.Deleted(events.Identity{Entity: events.EntityClassification, System: system, Key: "category/" + indexed, Version: 2}))

	const window = "?dateFrom=2026-03-01T00:00:00Z&dateTo=2026-04-01T00:00:00Z"
	key := h.issueKey(access.GrantSystem, system)
	for _, path := range []string{
		"/extensions", "/call-groups", "/call-logs", "/call-analyses", "/call-groups/" + group.String(), "/call-logs/" + call.String(),
		"/call-log-reports" + window, "/call-log-reports" + window + "&includeTranscripts=true",
	} {
		status, body := h.get(key, "/"+system.String()+path)
		if status != 200 || !strings.Contains(string(body), system.String()) {
			t.Errorf("GET %s: status = %d, body = %.200s, want 200 with %s", path, status, body, system)
		}
		if strings.Count(path, "/") == 1 && !strings.Contains(path, "?") && len(body) > 40_000 {
			t.Errorf("GET %s: a row has %d bytes, want 100 in less than 4 MB", path, len(body))
		}
	}
}
