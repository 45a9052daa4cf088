package scenario_test

import (
	"slices"
	"strings"

	"github.com/google/uuid"
)

// singleRows holds details against the rows that lists have of the same things: the same members, and the details' own.
func singleRows(w *world) {
	for _, o := range details() {
		end := strings.LastIndexByte(o.path, '/')
		list, id := w.example(operation{path: o.path[:end]}), w.named(o.path[end+1:])
		rows := w.get(w.key, list)
		place := slices.Index(rows.ids(), id)
		if place < 0 {
			w.t.Errorf("%s is not in %s", id, rows.text)
			continue
		}
		row := rows.body["data"].([]any)[place].(map[string]any)
		detail := w.read(w.key, w.example(o))
		for name, value := range row {
			w.is(o.id+": "+name, detail[name], value)
		}
	}
}

func detailsNeedAKey(w *world) {
	for _, o := range details() {
		w.judge(o.id, w.anonymous(w.example(o)), "401 UNAUTHENTICATED")
		w.judge(o.id, w.presenting("X-API-Key", "sk_phones_none", w.example(o)), "401 UNAUTHENTICATED")
	}
}

func detailsNeedTheirScope(w *world) {
	for _, o := range details() {
		w.judged(w.scoped(otherScopes(o.scope)...), w.example(o), "403 INSUFFICIENT_SCOPE")
	}
}

func absentDetails(w *world) {
	for _, o := range details() {
		w.judged(w.both(), w.absent(o), "404 NOT_FOUND")
		w.judged(w.key, w.elsewhere(o, uuid.New()), "404 NOT_FOUND")
		w.judged(w.both(), w.elsewhere(o, w.annex), "404 NOT_FOUND")
	}
}
