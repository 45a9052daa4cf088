package scenario_test

import (
	"net/http"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

// alike compares two answers of status 404 by all that a customer can see of them, save the request's id.
func (s *stage) alike(what string, a, b answer) {
	s.t.Helper()
	if a.status != 404 || b.status != 404 {
		s.t.Errorf("%s: %d and %d: %s %s", what, a.status, b.status, a.text, b.text)
	}
	if !sameBut("correlationId", a.body, b.body) {
		s.t.Errorf("%s:\n%s\n%s", what, a.text, b.text)
	}
	s.is(what, a.headers(), b.headers())
}

// headers are an answer's, with no value where each answer has its own.
func (a answer) headers() http.Header {
	header := a.header.Clone()
	for _, own := range []string{"Date", "Ratelimit", "X-Request-Id"} {
		if header.Get(own) != "" {
			header.Set(own, "")
		}
	}
	return header
}

// both covers the harbour and the annex.
func (w *world) both() access.Key {
	w.t.Helper()
	return w.stage.key(access.Request{Grant: access.Grant{Kind: access.GrantOrganization, ID: w.organization}})
}

// elsewhere is an operation's example in another phone system.
func (w *world) elsewhere(o operation, system uuid.UUID) string {
	other := *w
	other.harbour = system
	return other.example(o)
}

// A phone system of somebody else's, one that was deleted and one that never was are the same to a key.
func systemsOutsideTheGrant(w *world) {
	o, ended := w.office(), uuid.New()
	o.happen(events.Changed(phoneSystem(ended, 1, "Ended")))
	o.happen(deleted(phoneSystem(ended, 2, "")))
	for _, operation := range operations()[1:] {
		never := w.get(w.key, w.elsewhere(operation, uuid.New()))
		for _, system := range []uuid.UUID{w.branch, w.annex, o.system, ended} {
			path := w.elsewhere(operation, system)
			w.alike(path, w.get(w.key, path), never)
		}
	}
}

// What is in the harbour is not there in the annex, though the key covers both; it is as if it never were.
func identifiersOfAnotherSystem(w *world) {
	key := w.both()
	for _, operation := range details() {
		if a := w.get(key, w.example(operation)); a.status != 200 {
			w.t.Errorf("%s: %d %s", operation.id, a.status, a.text)
		}
		path := w.elsewhere(operation, w.annex)
		w.alike(path, w.get(key, path), w.get(key, w.absent(operation)))
	}
	sound := "/" + w.annex.String() + "/recordings/" + fullSound + "/url"
	w.alike(sound, w.get(key, sound), w.get(key, "/"+w.annex.String()+"/recordings/REnone/url"))
}

// absent is an operation on something in the annex that never was.
func (w *world) absent(o operation) string {
	return pathVariable.ReplaceAllStringFunc(o.path, func(variable string) string {
		switch variable {
		case "{phoneSystemId}":
			return w.annex.String()
		case "{recordingSid}":
			return "REnone"
		default:
			return uuid.NewString()
		}
	})
}

// Everything in an answer is of the phone system in the path, for a key that covers two.
func oneSystemAnAnswer(w *world) {
	key := w.both()
	for _, list := range append(standardLists(), "/call-log-reports?"+march) {
		here, there := w.read(key, w.home(list))["data"].([]any), w.read(key, "/"+w.annex.String()+list)["data"].([]any)
		if len(here) == 0 || len(there) != 0 {
			w.t.Errorf("%s: %d rows in the harbour, %d in the annex", list, len(here), len(there))
		}
		for _, system := range column(here, "phoneSystemId") {
			w.is(list, system, w.harbour)
		}
	}
	o := &office{world: w, system: w.annex, key: key}
	o.hasMembers("the annex's dimensions", noFamilies())
}
