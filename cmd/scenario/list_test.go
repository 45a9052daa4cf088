package scenario_test

import (
	"fmt"

	"github.com/google/uuid"

	"callboard/events"
)

func pagesBeginAtOne(w *world) {
	c := w.crowd(3)
	for _, list := range standardLists() {
		want := c.newest(list)
		first, second := c.path(list+"?pageSize=1"), c.path(list+"?pageSize=1&page=2")
		w.expect(c.key, first, 200, "page=1", "data.#=1")
		w.same(first, c.get(c.key, first).ids(), want[:1])
		w.same(second, c.get(c.key, second).ids(), want[1:2])
		for value, code := range map[string]string{"0": "TOO_SMALL", "-1": "TOO_SMALL", "one": "INVALID_FORMAT", "1.5": "INVALID_FORMAT", "": "INVALID_FORMAT"} {
			w.judged(c.key, c.path(list+"?page="+value), "400 VALIDATION_FAILED /page "+code)
		}
		w.judged(c.key, c.path(list+"?page=1&page=2"), "400 VALIDATION_FAILED /page REPEATED")
	}
}

func pageSizes(w *world) {
	c := w.crowd(101)
	for _, list := range standardLists() {
		w.expect(c.key, c.path(list), 200, "pageSize=25", "data.#=25", "total=101", "totalPages=5")
		w.expect(c.key, c.path(list+"?pageSize=1"), 200, "pageSize=1", "data.#=1", "totalPages=101")
		w.expect(c.key, c.path(list+"?pageSize=100"), 200, "pageSize=100", "data.#=100", "totalPages=2")
		for value, code := range map[string]string{"0": "TOO_SMALL", "-1": "TOO_SMALL", "101": "TOO_LARGE", "1000": "TOO_LARGE", "x": "INVALID_FORMAT"} {
			w.judged(c.key, c.path(list+"?pageSize="+value), "400 VALIDATION_FAILED /pageSize "+code)
		}
	}
}

func pagesInFull(w *world) {
	c := w.crowd(5)
	for _, list := range standardLists() {
		a := w.get(c.key, c.path(list+"?pageSize=2&page=3"))
		w.same(list, members(a.body), []string{"data", "page", "pageSize", "total", "totalPages"})
		w.same(list, a.ids(), c.newest(list)[4:])
		w.is(list, a.body, fields{"data": a.body["data"], "total": 5, "page": 3, "pageSize": 2, "totalPages": 3})
	}
}

func emptyLists(w *world) {
	system, key := w.own()
	for _, list := range standardLists() {
		w.shows(key, "/"+system.String()+list, "", fields{"data": []any{}, "total": 0, "page": 1, "pageSize": 25, "totalPages": 0})
	}
}

func pagesBeyondTheLast(w *world) {
	c := w.crowd(2)
	for _, list := range standardLists() {
		for _, page := range []int{2, 3, 9_000_000_000} {
			want := fields{"data": []any{}, "total": 2, "page": page, "pageSize": 25, "totalPages": 1}
			w.shows(c.key, c.path(fmt.Sprintf("%s?page=%d", list, page)), "", want)
		}
	}
}

// newestFirst holds lists against the order of their rows, at several sizes of pages.
func newestFirst(lists ...string) func(*world) {
	return func(w *world) {
		c := w.crowd(9)
		for _, list := range lists {
			for _, size := range []int{1, 2, 4, 100} {
				w.same(fmt.Sprintf("%s by %d", list, size), c.walk(list, size), c.newest(list))
			}
		}
	}
}

// everyRowOnce also walks along the links to the next page while newer calls and voicemails arrive.
func everyRowOnce(w *world) {
	c := w.crowd(10)
	for _, list := range standardLists() {
		w.same(list, c.walk(list, 2), c.newest(list))
	}
	for _, list := range []string{"/call-logs", "/voicemails"} {
		want, got := c.newest(list), []string(nil)
		for next := w.url(c.path(list + "?pageSize=2")); next != "" && len(got) <= len(want); {
			a := w.send("GET", next, keyed(c.key))
			got, next = append(got, a.ids()...), a.next()
			c.grow(2)
		}
		w.same(list+" along its links", got, want)
	}
}

// totalsAfterDeletions lets one of everything that a list counts come and go.
func (w *world) totalsAfterDeletions() {
	o := w.office()
	extension, phone, message := uuid.New(), uuid.New(), uuid.New()
	voicemail := &events.Voicemail{
		ID: message, PhoneSystemID: o.system, Version: o.next(), CallSid: o.latest.CallSid, From: "101", RecordingSid: "REoffice2", CreatedAt: day(4),
	}
	handset := &events.Phone{ID: phone, PhoneSystemID: o.system, Version: o.next(), Name: "Handset", Status: "active", CreatedAt: day(4)}
	o.happen(o.recorded(events.RecordingReady), o.findings(func(*events.Analysis) {}), o.extension(extension, "Front", "active"),
		events.Changed(voicemail), events.Changed(handset))
	lists := []string{"/call-logs", "/call-analyses", "/recordings", "/voicemails", "/extensions", "/phones", "/phones?status=active"}
	for _, list := range lists {
		o.expect(o.key, o.path(list), 200, "total=1", "data.#=1")
	}
	voicemail.Version, handset.Version = o.next(), o.next()
	o.latest.Version = o.next()
	gone := &events.Extension{ID: extension, PhoneSystemID: o.system, Version: o.next()}
	o.happen(deleted(&o.latest), deleted(voicemail), deleted(handset), deleted(gone))
	for _, list := range lists {
		o.expect(o.key, o.path(list), 200, "total=0", "totalPages=0", "data=[]")
	}
}
