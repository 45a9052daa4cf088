package scenario_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

// reporting is a phone system of a rule's own, of which it reads reports.
type reporting struct {
	*world
	system uuid.UUID
	key    access.Key
}

func (w *world) reporting() *reporting {
	w.t.Helper()
	system, key := w.own()
	return &reporting{world: w, system: system, key: key}
}

// called publishes calls that were created at these times, at once, and returns their identifiers.
func (r *reporting) called(times ...events.Time) []string {
	r.t.Helper()
	var states []events.State
	var ids []string
	for _, created := range times {
		c := call(r.system, uuid.New(), 1)
		c.CreatedAt = created
		states, ids = append(states, c), append(ids, c.ID.String())
	}
	r.happen(changed(states...)...)
	return ids
}

// changes publishes a newer version of a call of which nothing but the route is another.
func (r *reporting) changes(id string, created events.Time) {
	r.t.Helper()
	c := call(r.system, uuid.MustParse(id), 2)
	c.CreatedAt, c.RouteSummary = created, events.Some("Elsewhere")
	r.happen(changed(c)...)
}

func (r *reporting) path(query string) string {
	return "/" + r.system.String() + "/call-log-reports?" + query
}

func between(from, to fmt.Stringer) string {
	return "dateFrom=" + from.String() + "&dateTo=" + to.String()
}

// instant writes a time as the contract does, to the nanosecond.
type instant time.Time

func (i instant) String() string { return time.Time(i).UTC().Format("2006-01-02T15:04:05.000000000Z") }

// ever is a window of updatedAt around everything.
const ever = "timeField=updatedAt&dateFrom=2026-01-01T00:00:00Z&dateTo=2100-01-01T00:00:00Z"

// reported are the identifiers of a window's rows, from the first page to the last.
func (r *reporting) reported(query string) []string {
	r.t.Helper()
	var all []string
	cursor := ""
	for range 1000 {
		a := r.get(r.key, r.path(query+cursor))
		if a.status != 200 {
			r.t.Fatalf("%s: %s", query, a.verdict())
		}
		all = append(all, a.ids()...)
		if a.body["hasMore"] == false {
			return all
		}
		cursor = "&cursor=" + a.cursor()
	}
	r.t.Fatalf("%s has no end", query)
	return nil
}

func (a answer) cursor() string {
	cursor, _ := a.body["nextCursor"].(string)
	return url.QueryEscape(cursor)
}

// cursorOf is the one behind a page's first row.
func (r *reporting) cursorOf(query string) string {
	r.t.Helper()
	a := r.get(r.key, r.path(query+"&limit=1"))
	if len(a.ids()) != 1 || a.body["hasMore"] != true {
		r.t.Fatalf("%s is no beginning: %s %s", query, a.verdict(), a.text)
	}
	return "&cursor=" + a.cursor()
}

func timeFields(w *world) {
	r := w.reporting()
	later := r.called(day(7))[0]
	earlier := r.called(day(6))[0] // arrives after the later one
	r.same("by default", r.reported(march), []string{earlier, later})
	r.same("by createdAt", r.reported(march+"&timeField=createdAt"), []string{earlier, later})
	r.same("by updatedAt", r.reported(ever), []string{later, earlier})
	r.same("by createdAt, one day", r.reported(between(day(7), day(8))), []string{later})
	r.same("by updatedAt, one day", r.reported(between(day(7), day(8))+"&timeField=updatedAt"), nil)
	for _, field := range []string{"startTime", "CreatedAt", "updated_at"} {
		r.judged(r.key, r.path(march+"&timeField="+field), "400 VALIDATION_FAILED /timeField NOT_ALLOWED")
	}
}

func windowsAreRequired(w *world) {
	r := w.reporting()
	r.judged(r.key, r.path(""), "400 VALIDATION_FAILED /dateFrom REQUIRED /dateTo REQUIRED")
	r.judged(r.key, r.path("dateTo="+day(1).String()), "400 VALIDATION_FAILED /dateFrom REQUIRED")
	r.judged(r.key, r.path("dateFrom="+day(1).String()), "400 VALIDATION_FAILED /dateTo REQUIRED")
	r.judged(r.key, r.path("dateFrom=2026-03-01&dateTo=soon"), "400 VALIDATION_FAILED /dateFrom INVALID_FORMAT /dateTo INVALID_FORMAT")
	r.judged(r.key, r.path(between(day(2), day(1))), "400 VALIDATION_FAILED /dateTo TOO_SMALL")
}

func halfOpenWindows(w *world) {
	r := w.reporting()
	at := day(5)
	id := r.called(at)
	r.same("from its time on", r.reported(between(at, at+1)), id)
	r.same("up to its time", r.reported(between(at-1, at)), nil)
	r.same("after it", r.reported(between(at+1, at+2)), nil)
	r.same("at it, empty", r.reported(between(at, at)), nil)
	updated := r.updated(id[0])
	within := func(from, to time.Duration) []string {
		return r.reported("timeField=updatedAt&" + between(instant(updated.Add(from)), instant(updated.Add(to))))
	}
	r.same("from its update on", within(0, time.Millisecond), id)
	r.same("up to its update", within(-time.Millisecond, 0), nil)
	r.same("from within the millisecond after its update", within(time.Microsecond, time.Millisecond), nil)
	r.same("up to a microsecond after its update", within(0, time.Microsecond), id)
}

// updated is a row's updatedAt.
func (r *reporting) updated(id string) time.Time {
	r.t.Helper()
	text, _ := r.report(r.key, r.system, uuid.MustParse(id))["updatedAt"].(string)
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		r.t.Fatal(err)
	}
	return t
}

// limits holds the number of rows of a page against what is asked for. There are more than a hundred.
func limits(query string, most int) func(*world) {
	return func(w *world) {
		r := w.reporting()
		r.called(times(101)...)
		given := march + query
		r.expect(r.key, r.path(given), 200, "data.#=25", "hasMore=true")
		r.expect(r.key, r.path(given+"&limit=1"), 200, "data.#=1", "hasMore=true")
		r.expect(r.key, r.path(given+fmt.Sprint("&limit=", most)), 200, fmt.Sprint("data.#=", most), "hasMore=true")
		for value, code := range map[string]string{strconv.Itoa(most + 1): "TOO_LARGE", "0": "TOO_SMALL", "-1": "TOO_SMALL", "all": "INVALID_FORMAT", "": "INVALID_FORMAT"} {
			r.judged(r.key, r.path(given+"&limit="+value), "400 VALIDATION_FAILED /limit "+code)
		}
	}
}

// times are as many, two of each.
func times(count int) []events.Time {
	list := make([]events.Time, count)
	for i := range list {
		list[i] = day(5) + events.Time(i/2)
	}
	return list
}

func transcriptsOnRequest(w *world) {
	for query, there := range map[string]bool{"": false, "&includeTranscripts=false": false, "&includeTranscripts=true": true} {
		for _, row := range w.read(w.key, w.home("/call-log-reports?"+march+query))["data"].([]any) {
			if _, is := row.(map[string]any)["transcript"]; is != there {
				w.t.Errorf("%q: %v", query, row)
			}
		}
	}
	for _, value := range []string{"1", "yes", "TRUE", ""} {
		w.judged(w.key, w.home("/call-log-reports?"+march+"&includeTranscripts="+value), "400 VALIDATION_FAILED /includeTranscripts INVALID_FORMAT")
	}
}

func reportPages(w *world) {
	for query, more := range map[string]bool{"": false, "&limit=1": true, "&timeField=updatedAt": false} {
		body := w.read(w.key, w.home("/call-log-reports?"+march+query))
		w.same(query, members(body), []string{"data", "hasMore", "nextCursor"})
		w.is(query+": hasMore", body["hasMore"], more)
		if _, ok := body["data"].([]any); !ok {
			w.t.Errorf("%s: data is %v", query, body["data"])
		}
		if cursor, ok := body["nextCursor"].(string); !ok || cursor == "" {
			w.t.Errorf("%s: nextCursor is %v", query, body["nextCursor"])
		}
	}
}

func reportsAreNotStored(w *world) {
	for _, query := range []string{"", "&limit=1", "&includeTranscripts=true"} {
		if got := w.get(w.key, w.home("/call-log-reports?"+march+query)).header.Values("Cache-Control"); len(got) != 1 || got[0] != "no-store" {
			w.t.Errorf("%s: %q", query, got)
		}
	}
}

// ascending holds the rows of both orders against the times and identifiers that they show, at several sizes of pages.
func ascending(w *world) {
	r := w.reporting()
	r.called(times(11)...)
	for field, query := range map[string]string{"createdAt": march, "updatedAt": ever} {
		a := r.get(r.key, r.path(query))
		var previous string
		for _, row := range a.body["data"].([]any) {
			key := fmt.Sprint(step(row, field), " ", step(row, "id"))
			if key <= previous {
				r.t.Errorf("by %s, %s comes before %s", field, previous, key)
			}
			previous = key
		}
		if len(a.ids()) != 11 {
			r.t.Errorf("by %s: %d rows", field, len(a.ids()))
		}
		for _, limit := range []int{1, 2, 3, 10, 11} {
			r.same(fmt.Sprintf("by %s and %d", field, limit), r.reported(query+fmt.Sprint("&limit=", limit)), a.ids())
		}
	}
}

// opaque holds cursors against what they are not: the same text for the same place, readable, or alterable.
func opaque(w *world) {
	r := w.reporting()
	ids := r.called(day(5), day(6))
	cursor := strings.TrimPrefix(r.cursorOf(march), "&cursor=")
	if other := strings.TrimPrefix(r.cursorOf(march), "&cursor="); other == cursor {
		r.t.Error("the cursor of a place is always the same")
	}
	message, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		r.t.Fatal(err)
	}
	first := uuid.MustParse(ids[0])
	for _, readable := range []string{first.String(), string(first[:]), "2026-03", string(r.system[:])} {
		if strings.Contains(cursor, readable) || strings.Contains(string(message), readable) {
			r.t.Errorf("%q can be read in the cursor", readable)
		}
	}
	altered := []string{"x", "", cursor + "A", cursor[1:], base64.RawURLEncoding.EncodeToString(first[:])}
	for i := range message {
		bent := append([]byte{}, message...)
		bent[i] ^= 1
		altered = append(altered, base64.RawURLEncoding.EncodeToString(bent))
	}
	for _, text := range altered {
		want := "400 VALIDATION_FAILED /cursor CURSOR_INVALID"
		if text == "" {
			want = "400 VALIDATION_FAILED /cursor INVALID_FORMAT"
		}
		r.judged(r.key, r.path(march+"&cursor="+text), want)
	}
}

const foreignCursor = "400 VALIDATION_FAILED /cursor CURSOR_MISMATCH"

func cursorOfAnotherSystem(w *world) {
	here, there := w.reporting(), w.reporting()
	here.called(day(5), day(6))
	there.called(day(5), day(6))
	there.judged(there.key, there.path(march+here.cursorOf(march)), foreignCursor)
	here.judged(here.key, here.path(march+here.cursorOf(march)), "200")
}

func cursorOfAnotherField(w *world) {
	r := w.reporting()
	r.called(day(5), day(6))
	byUpdate := march + "&timeField=updatedAt"
	r.judged(r.key, r.path(byUpdate+r.cursorOf(march)), foreignCursor)
	r.judged(r.key, r.path(march+"&timeField=createdAt"+r.cursorOf(march)), "200")
	r.judged(r.key, r.path(strings.Replace(ever, "updatedAt", "createdAt", 1)+r.cursorOf(ever)), foreignCursor)
}

func cursorOfAnotherWindow(w *world) {
	r := w.reporting()
	r.called(day(5), day(6))
	cursor := r.cursorOf(between(day(1), day(9)))
	for _, window := range []string{
		between(day(2), day(9)), between(day(1), day(10)), between(day(1)+1, day(9)), between(day(1), day(9)-1), between(day(1), instant(day(9).Std().Add(1))),
	} {
		r.judged(r.key, r.path(window+cursor), foreignCursor)
	}
	r.judged(r.key, r.path(between(instant(day(1).Std()), instant(day(9).Std()))+cursor), "200") // the same, spelled otherwise
}

func changingLimits(w *world) {
	r := w.reporting()
	want := r.called(day(1), day(2), day(3), day(4), day(5), day(6), day(7))
	var got []string
	cursor := ""
	for _, query := range []string{"&limit=1", "&limit=3&includeTranscripts=true", "&limit=2", "&limit=100"} {
		a := r.get(r.key, r.path(march+query+cursor))
		rows, _ := a.body["data"].([]any)
		for _, row := range rows {
			if _, there := row.(map[string]any)["transcript"]; there != strings.Contains(query, "Transcripts") {
				r.t.Errorf("%s: %v", query, row)
			}
		}
		got, cursor = append(got, a.ids()...), "&cursor="+a.cursor()
	}
	r.same("pages of changing sizes", got, want)
	r.judged(r.key, r.path(march+"&limit=26&includeTranscripts=true"+cursor), "400 VALIDATION_FAILED /limit TOO_LARGE")
}

// cursorsGrantNothing hands a cursor in with keys other than the one it was given to.
func cursorsGrantNothing(w *world) {
	r := w.reporting()
	ids := r.called(day(5), day(6))
	path := r.path(march + r.cursorOf(march))
	r.judge("without a key", r.anonymous(path), "401 UNAUTHENTICATED")
	r.judged(w.key, path, "404 NOT_FOUND")
	onSystem := access.Grant{Kind: access.GrantSystem, ID: r.system}
	r.judged(r.stage.key(access.Request{Grant: onSystem, Scopes: otherScopes(access.ScopeCalls)}), path, "403 INSUFFICIENT_SCOPE")
	r.same("another key on the system", r.get(r.systemKey(r.system), path).ids(), ids[1:])
	issued, err := r.registry.Issue(r.t.Context(), access.Request{Name: "walker", Grant: onSystem, Scopes: access.Scopes()})
	if err != nil {
		r.t.Fatal(err)
	}
	r.judged(issued.Key, path, "200")
	r.revoke(issued.ID)
	r.judged(issued.Key, path, "401 UNAUTHENTICATED")
}

func restarting(w *world) {
	r := w.reporting()
	want := r.called(day(5), day(6), day(7))
	first := r.get(r.key, r.path(march+"&limit=2"))
	r.judged(r.key, r.path(march+"&limit=2&cursor="+first.cursor()+"x"), "400 VALIDATION_FAILED /cursor CURSOR_INVALID")
	r.same("begun again", r.reported(march+"&limit=2"), want)
}

// sharedBoundaries walks windows that lie side by side, their boundaries on and between the rows.
func sharedBoundaries(w *world) {
	r := w.reporting()
	want := r.called(day(2), day(3)-1, day(3), day(3)+1, day(4))
	var got []string
	for n := 1; n < 6; n++ {
		got = append(got, r.reported(between(day(n), day(n+1)))...)
	}
	r.same("by createdAt", got, want)
	byUpdate := r.reported(ever)
	first, last := r.updated(byUpdate[0]), r.updated(byUpdate[len(byUpdate)-1])
	got = nil
	for start := first.Add(-time.Millisecond); !start.After(last); start = start.Add(time.Millisecond) {
		got = append(got, r.reported("timeField=updatedAt&"+between(instant(start), instant(start.Add(time.Millisecond))))...)
	}
	r.same("by updatedAt", got, byUpdate)
}

func changesInTheWindow(w *world) {
	r := w.reporting()
	ids := r.called(day(5), day(6))
	boundary := r.updated(ids[0])
	if second := r.updated(ids[1]); second.After(boundary) {
		boundary = second
	}
	boundary = boundary.Add(time.Millisecond)
	since := "timeField=updatedAt&" + between(instant(boundary), instant(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)))
	r.same("before any change", r.reported(since), nil)
	r.changes(ids[0], day(5))
	added := r.called(day(4))[0]
	r.same("after a change and an addition", r.reported(since), []string{ids[0], added})
	r.same("before the boundary", r.reported("timeField=updatedAt&"+between(day(1), instant(boundary))), ids[1:])
}

func deletionsAreNotReported(w *world) {
	r := w.reporting()
	ids := r.called(day(5), day(6))
	r.happen(deleted(call(r.system, uuid.MustParse(ids[0]), 2)))
	r.same("by createdAt", r.reported(march), ids[1:])
	a := r.get(r.key, r.path(ever))
	r.same("by updatedAt", a.ids(), ids[1:])
	if strings.Contains(a.text, ids[0]) {
		r.t.Errorf("the deleted call is in %s", a.text)
	}
}
