package scenario_test

import (
	"net/http"
	"reflect"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

// The published description has the contract's 24 operations, each with GET, and each at stage beta.
func publishedOperations(w *world) {
	paths, _ := w.description().body["paths"].(map[string]any)
	stages := fields{}
	for path, methods := range paths {
		w.is(path, members(methods), []string{"get"})
		stages[strings.TrimPrefix(path, "/customer/phone-systems")+" "+at(methods, "get.operationId").(string)] = at(methods, "get.x-lifecycle-stage")
	}
	want := fields{}
	for _, o := range operations() {
		want[o.path+" "+o.id] = "beta"
	}
	w.is("the number of operations", len(want), 24)
	w.is("the stages", stages, want)
}

// Whatever else than GET is sent to whichever operation, it is refused and nothing has changed.
func nothingIsWritten(w *world) {
	for _, o := range operations() {
		path := w.example(o)
		before := w.get(w.key, path)
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, "PURGE"} {
			w.judge(method+" "+path, w.send(method, w.url(path), keyed(w.key)), "405 METHOD_NOT_ALLOWED")
		}
		after := w.get(w.key, path)
		for _, stamp := range []string{"generatedAt", "nextCursor", "url", "expiresAt"} { // of the answer, not of the data
			delete(before.body, stamp)
			delete(after.body, stamp)
		}
		if before.status != 200 || !reflect.DeepEqual(before.body, after.body) {
			w.t.Errorf("%s: %d, then %v", path, before.status, after.body)
		}
	}
}

// Neither resource areas that are not approved, nor what might lie beside the contract's paths, is there.
func unlistedPaths(w *world) {
	for _, path := range []string{
		"/" + w.harbour.String(), w.home("/"), w.home("/messages"), w.home("/contacts"), w.home("/users"), w.home("/webhooks"), w.home("/diagnostics"),
		w.home("/call-logs/"), w.home("/call-logs/" + w.full.String() + "/transcript"), w.home("/call-log-reports/" + w.full.String()),
		w.home("/call-log-reports/dimensions/categories"), w.home("/recordings/" + fullSound + "/audio"), w.home("/voicemails/" + w.message.String() + "/url"),
		w.home("//call-logs"), w.home("/../" + w.harbour.String() + "/call-logs"), w.home("/CALL-LOGS"), "/",
	} {
		w.judged(w.key, path, "404 NOT_FOUND")
	}
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/customer", "/v2/customer/phone-systems", "/customer/phone-systems", "/metrics", "/debug/pprof/", "/livez"} {
		w.judge(path, w.send(http.MethodGet, w.api.URL+path, keyed(w.key)), "404 NOT_FOUND")
	}
}

// Names of members say what these hold.
var (
	identifierName = regexp.MustCompile(`^(id|phoneSystemId|callLogId|extensionId|callGroupId)$`)
	dateTimeName   = regexp.MustCompile(`^(\w+At|startTime|endTime)$`)
	uuidForm       = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

// formed proves that all members of these names, in all of the world's answers, are null or of a form.
func formed(name, form *regexp.Regexp) func(*world) {
	return func(w *world) {
		seen := 0
		var walk func(path string, value any)
		walk = func(path string, value any) {
			switch v := value.(type) {
			case map[string]any:
				for member, inner := range v {
					if name.MatchString(member) && inner != nil {
						seen++
						if text, ok := inner.(string); !ok || !form.MatchString(text) {
							w.t.Errorf("%s: %s is %v", path, member, inner)
						}
					}
					walk(path, inner)
				}
			case []any:
				for _, inner := range v {
					walk(path, inner)
				}
			}
		}
		for _, o := range operations() {
			walk(o.path, w.read(w.key, w.example(o)))
		}
		if seen < 60 {
			w.t.Errorf("%d members seen", seen)
		}
	}
}

// A time that is published finer than it is stored, or in other spelling, is served in the one form.
func timesAreUTC(w *world) {
	formed(dateTimeName, dateTimeForm)(w)
	o := w.office()
	e := o.edited(func(c *events.Call) { c.StartTime = events.Some(day(5)) })
	o.tampered(e, `"startTime":"2026-03-05T09:00:00.000Z"`, `"startTime":"2026-03-05T09:00:00.1239+00:00"`)
	o.holds("the call", o.detail(), fields{"startTime": "2026-03-05T09:00:00.123Z"})
}

// An identifier is served in lower case, however it was published and asked for.
func identifiersAreUUIDs(w *world) {
	formed(identifierName, uuidForm)(w)
	upper := func(id uuid.UUID) string { return strings.ToUpper(id.String()) }
	w.shows(w.key, "/"+upper(w.harbour)+"/call-logs/"+upper(w.full), "", w.read(w.key, w.home("/call-logs/"+w.full.String())))
}

// What is not known is null where it would be: rows of everything and of nothing have the same members.
func nullsArePresent(w *world) {
	callRowOfNothing(w)
	reportRowOfNothing(w)
	for _, pair := range [][2]string{
		{"/phones/" + w.base.String(), "/phones/" + w.handset.String()},
		{"/phone-numbers/" + w.mainNumber.String(), "/phone-numbers/" + w.releasedNumber.String()},
		{"/extensions/" + w.front.String(), "/extensions/" + w.back.String()},
		{"/agent-configs/" + w.ava.String(), "/agent-configs/" + w.spare.String()},
		{"/call-logs/" + w.full.String(), "/call-logs/" + w.bare.String()},
		{"/call-analyses/" + w.analyzed.String(), "/call-analyses/" + w.waiting.String()},
		{"/voicemails/" + w.message.String(), "/voicemails/" + w.notice.String()},
		{"/recordings/" + fullSound, "/recordings/" + bareSound},
	} {
		filled, bare := w.read(w.key, w.home(pair[0])), w.read(w.key, w.home(pair[1]))
		w.is(pair[1], members(bare), members(filled))
	}
}

func discoveredSystem(w *world) {
	body := w.read(w.both(), "")
	w.is("the systems", body, fields{"data": []fields{{"id": w.annex, "name": "Annex"}, {"id": w.harbour, "name": "Harbour Dental"}}})
	for _, id := range column(body["data"], "id") {
		w.read(w.both(), "/"+id.(string)+"/call-logs")
	}
}

func systemRenamed(w *world) {
	o := w.office()
	for _, name := range []string{"Zürich \"Süd\"", "A"} {
		o.happen(events.Changed(phoneSystem(o.system, o.next(), name)))
		o.shows(o.key, "", "data", []fields{{"id": o.system, "name": name}})
	}
}

// Names order by code point, and systems of one name by id, whatever the order of events.
func systemsByName(w *world) {
	organization := uuid.New()
	names := []string{"b", "Z", "é", "a", "B", "10", "a"}
	ids := make([]uuid.UUID, len(names))
	for i, name := range names {
		ids[i] = uuid.UUID{0: 0xf0 - byte(i), 15: 1}
		state := phoneSystem(ids[i], 1, name)
		state.OrganizationID = events.Some(organization)
		w.happen(events.Changed(state))
	}
	data := w.read(w.organizationKey(organization), "")["data"]
	w.is("the names", column(data, "name"), []any{"10", "B", "Z", "a", "a", "b", "é"})
	w.is("the ids", column(data, "id"), []any{ids[5], ids[4], ids[1], ids[6], ids[3], ids[0], ids[2]})
}
