package scenario_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
	"callboard/schema/schematest"
)

// stays checks that changes of what a call refers to change its report row, one by one, and don't advance updatedAt.
func stays(list func(*ownSystem) []events.Event) func(*fixture) {
	return func(f *fixture) {
		o := f.ownSystem()
		o.publishReferences()
		before := o.row()
		for _, e := range list(o) {
			o.apply(e)
			after := o.row()
			if equalExcept("updatedAt", before, after) {
				o.Errorf("%s changes nothing: %v", e.Type(), after)
			}
			if after["updatedAt"] != before["updatedAt"] {
				o.Errorf("%s: updatedAt = %v, want %v", e.Type(), after["updatedAt"], before["updatedAt"])
			}
			before = after
		}
	}
}

// reportSystem is a phone system of a rule that reads reports.
type reportSystem struct {
	*fixture
	system uuid.UUID
	key    access.Key
}

func (f *fixture) reportSystem() *reportSystem {
	f.Helper()
	system, key := f.newSystem()
	return &reportSystem{fixture: f, system: system, key: key}
}

// publishCalls publishes calls that were created at these times, and returns their identifiers.
func (r *reportSystem) publishCalls(times ...events.Time) []string {
	r.Helper()
	var states []events.State
	var ids []string
	for _, created := range times {
		c := call(r.system, uuid.New(), 1)
		c.CreatedAt = created
		states, ids = append(states, c), append(ids, c.ID.String())
	}
	r.apply(changed(states...)...)
	return ids
}

func (r *reportSystem) path(query string) string {
	return "/" + r.system.String() + "/call-log-reports?" + query
}

// byUpdate is a window of updatedAt that has every row.
const byUpdate = "timeField=updatedAt&dateFrom=2026-01-01T00:00:00Z&dateTo=2100-01-01T00:00:00Z"

// reportLimits checks the default limit, with and without transcripts.
func reportLimits(f *fixture) {
	r := f.reportSystem()
	times := make([]events.Time, 26)
	for i := range times {
		times[i] = day(5) + events.Time(i)
	}
	r.publishCalls(times...)
	for _, query := range []string{wholeWindow, wholeWindow + "&includeTranscripts=true"} {
		body := r.mustGet(r.key, r.path(query))
		r.equalJSON(query, []any{jsonAt(body, "data.#"), body["hasMore"]}, []any{25, true})
	}
	r.equalJSON("rows at the largest limit", jsonAt(r.mustGet(r.key, r.path(wholeWindow+"&limit=100")), "data.#"), 26)
}

// cursorsGrantNothing uses a cursor with other keys than the one that it was issued to.
func cursorsGrantNothing(f *fixture) {
	r := f.reportSystem()
	ids := r.publishCalls(day(5), day(6))
	path := r.path(wholeWindow + "&cursor=" + r.get(r.key, r.path(wholeWindow+"&limit=1")).cursor())
	r.checkOutcome("without a key", r.getWithoutKey(path), "401 UNAUTHENTICATED")
	r.expectOutcome(f.key, path, "404 NOT_FOUND")
	grant := access.Grant{Kind: access.GrantSystem, ID: r.system}
	r.expectOutcome(r.issueKey(access.KeySpec{Grant: grant, Scopes: otherScopes(access.ScopeCalls)}), path, "403 INSUFFICIENT_SCOPE")
	issued := r.issue(access.KeySpec{Grant: grant})
	r.equalStrings("rows for another key on the system", r.get(issued.Key, path).ids(), ids[1:])
	r.revoke(issued.ID)
	r.expectOutcome(issued.Key, path, "401 UNAUTHENTICATED")
}

// changesInTheWindow reads a window of updatedAt that begins after the first two calls.
func changesInTheWindow(f *fixture) {
	r := f.reportSystem()
	ids := r.publishCalls(day(5), day(6))
	var last string
	for _, row := range r.mustGet(r.key, r.path(byUpdate))["data"].([]any) {
		last = max(last, row.(map[string]any)["updatedAt"].(string))
	}
	boundary, err := time.Parse(time.RFC3339, last)
	if err != nil {
		r.Fatal(err)
	}
	from := boundary.Add(time.Millisecond).UTC().Format(time.RFC3339Nano)
	since := r.path("timeField=updatedAt&dateFrom=" + from + "&dateTo=2100-01-01T00:00:00Z")
	r.equalStrings("rows before any change", r.get(r.key, since).ids(), nil)
	changedCall := call(r.system, uuid.MustParse(ids[0]), 2)
	changedCall.CreatedAt, changedCall.RouteSummary = day(5), events.Some("Elsewhere")
	r.apply(changed(changedCall)...)
	added := r.publishCalls(day(4))
	r.equalStrings("rows after a change and an addition", r.get(r.key, since).ids(), append(ids[:1:1], added...))
	before := r.path("timeField=updatedAt&dateFrom=2026-01-01T00:00:00Z&dateTo=" + from)
	r.equalStrings("rows of the earlier window", r.get(r.key, before).ids(), ids[1:])
}

func deletionsAreNotReported(f *fixture) {
	r := f.reportSystem()
	ids := r.publishCalls(day(5), day(6))
	r.apply(deleted(call(r.system, uuid.MustParse(ids[0]), 2)))
	for _, query := range []string{wholeWindow, byUpdate} {
		a := r.get(r.key, r.path(query))
		r.equalStrings(query, a.ids(), ids[1:])
		if strings.Contains(a.text, ids[0]) {
			r.Errorf("%s has the deleted call: %s", query, a.text)
		}
	}
}

// oversizedTranscript reads a report whose second call has a transcript that no page can have: pages have its turns, too. Its text alone is
// not too large for the call's detail. Events with such a transcript are refused, so the test writes it.
func oversizedTranscript(f *fixture) {
	r := f.reportSystem()
	ids := r.publishCalls(day(5), day(6), day(7))
	long := strings.Repeat("\"\n", 700_000) // twice as long in JSON
	for i, text := range []string{"First.", "Second.", "Last."} {
		spoken := transcript(r.system, uuid.MustParse(ids[i]), 1, "completed", text)
		spoken.Turns = []events.Turn{{Text: text, Speaker: events.Speaker{Kind: "unattributed"}}}
		r.apply(changed(spoken)...)
	}
	schematest.Exec(r, r.Pool, `update projection.transcript_text set text = $1,
		turns = json_build_array(json_build_object('text', $1::text, 'speaker', json_build_object('kind', 'unattributed'))) where owner_id = $2`, long, ids[1])
	one := wholeWindow + "&includeTranscripts=true&limit=1"
	first := r.get(r.key, r.path(one))
	r.equalStrings("the first page", first.ids(), ids[:1])
	refused := r.get(r.key, r.path(one+"&cursor="+first.cursor()))
	r.checkOutcome("the second page", refused, "413 EXPORT_TOO_LARGE")
	r.equalStrings("its members", memberNames(refused.body), problemMembers("params"))
	r.equalStrings("its params", memberNames(refused.body["params"]), []string{"actualBytes", "maxBytes"})
	second := r.get(r.key, r.path(wholeWindow+"&limit=1&cursor="+first.cursor()))
	r.equalStrings("the second page without transcripts", second.ids(), ids[1:2])
	last := r.get(r.key, r.path(one+"&cursor="+second.cursor()))
	r.equalStrings("the last page", last.ids(), ids[2:])
	r.equalJSON("its transcript", jsonAt(last.body, "data.0.transcript.text"), "Last.")
	detail := r.mustGet(r.key, fmt.Sprintf("/%s/call-logs/%s", r.system, ids[1]))
	if text, _ := detail["transcribedText"].(string); text != long {
		r.Errorf("bytes of the detail's transcript = %d, want %d", len(text), len(long))
	}
}
