package scenario_test

import (
	"strings"

	"github.com/google/uuid"
)

// picks holds what a list's filters leave, newest first, and what total counts.
func (w *world) picks(path string, ids ...any) {
	w.t.Helper()
	a := w.get(w.key, w.home(path))
	w.is(path, column(a.body["data"], identifierOf(path)), append([]any{}, ids...))
	w.is(path+": total", a.body["total"], len(ids))
}

func identifierOf(path string) string {
	if strings.HasPrefix(path, "/recordings") {
		return "recordingSid"
	}
	return "id"
}

// statuses filters a list by each of its rows' statuses, and by what is none.
func statuses(list string, byStatus func(*world) map[string]uuid.UUID) func(*world) {
	return func(w *world) {
		for status, id := range byStatus(w) {
			w.picks(list+"?status="+status, id)
			if list == "/agent-configs" {
				continue // its statuses are a closed set
			}
			w.picks(list + "?status=" + status[1:])
			w.picks(list + "?status=" + strings.ToUpper(status))
			w.picks(list + "?status=" + status + "%25")
		}
		w.judged(w.key, w.home(list+"?status="), "400 VALIDATION_FAILED /status INVALID_FORMAT")
		w.judged(w.key, w.home(list+"?status=active&status=active"), "400 VALIDATION_FAILED /status REPEATED")
	}
}

// exact filters a list by the value of one row, and by what is nearly it.
func exact(list, parameter, value string, id func(*world) uuid.UUID) func(*world) {
	return func(w *world) {
		given := list + "?" + parameter + "="
		w.picks(given+value, id(w))
		for _, near := range []string{value[:len(value)-1], value + "0", value[1:], value + "%25", value + "%20"} {
			w.picks(given + near)
		}
		w.judged(w.key, w.home(given), "400 VALIDATION_FAILED /"+parameter+" INVALID_FORMAT")
		w.judged(w.key, w.home(given+strings.Repeat("9", 256)), "400 VALIDATION_FAILED /"+parameter+" TOO_LONG")
	}
}

func agentStatuses(w *world) {
	statuses("/agent-configs", func(w *world) map[string]uuid.UUID {
		return map[string]uuid.UUID{"active": w.ava, "testing": w.spare}
	})(w)
	for _, status := range []string{"inactive", "paused", "archived"} {
		w.picks("/agent-configs?status=" + status)
	}
	for _, status := range []string{"Active", "deleted", "active%20"} {
		w.judged(w.key, w.home("/agent-configs?status="+status), "400 VALIDATION_FAILED /status NOT_ALLOWED")
	}
}

func agentNumbers(w *world) {
	w.picks("/agent-configs?agentNumber=3", w.ava)
	w.picks("/agent-configs?agentNumber=1")
	w.picks("/agent-configs?agentNumber=9")
	for value, code := range map[string]string{"0": "TOO_SMALL", "10": "TOO_LARGE", "-3": "TOO_SMALL", "x": "INVALID_FORMAT", "": "INVALID_FORMAT", "3.0": "INVALID_FORMAT"} {
		w.judged(w.key, w.home("/agent-configs?agentNumber="+value), "400 VALIDATION_FAILED /agentNumber "+code)
	}
}

func phonesOfAnExtension(w *world) {
	w.picks("/phones?extensionId="+w.front.String(), w.handset)
	w.picks("/phones?extensionId="+strings.ToUpper(w.front.String()), w.handset)
	w.picks("/phones?extensionId=" + w.back.String())
	w.judged(w.key, w.home("/phones?extensionId=101"), "400 VALIDATION_FAILED /extensionId INVALID_FORMAT")
}

// dated filters a list, given with the ? of its parameters, by the times of its two rows: each bound at a row and a millisecond
// off it.
func dated(list string, rows func(*world) (newer, older uuid.UUID), newerDay, olderDay int) func(*world) {
	return func(w *world) {
		newer, older := rows(w)
		from, to := list+"&dateFrom=", list+"&dateTo="
		w.picks(list, newer, older)
		w.picks(from+day(olderDay).String(), newer, older)
		w.picks(from+(day(olderDay)+1).String(), newer)
		w.picks(from+day(newerDay).String(), newer)
		w.picks(from + (day(newerDay) + 1).String())
		w.picks(to+day(newerDay).String(), newer, older)
		w.picks(to+(day(newerDay)-1).String(), older)
		w.picks(to+day(olderDay).String(), older)
		w.picks(to + (day(olderDay) - 1).String())
		w.picks(from+day(olderDay).String()+"&dateTo="+day(olderDay).String(), older)
		w.picks(from + (day(olderDay) + 1).String() + "&dateTo=" + (day(newerDay) - 1).String())
		for _, malformed := range []string{"2026-03-01", "yesterday", "2026-03-01T00:00:00", "2026-03-01T00:00:00%2B01:00", "2026-02-30T00:00:00Z", "1772355600", ""} {
			w.judged(w.key, w.home(from+malformed), "400 VALIDATION_FAILED /dateFrom INVALID_FORMAT")
			w.judged(w.key, w.home(to+malformed), "400 VALIDATION_FAILED /dateTo INVALID_FORMAT")
		}
		w.judged(w.key, w.home(from+day(newerDay).String()+"&dateTo="+day(olderDay).String()), "400 VALIDATION_FAILED /dateTo TOO_SMALL")
	}
}

// datedCalls also sees the leg of the full call, a day after it.
func datedCalls(w *world) {
	from := "/call-logs?dateFrom="
	w.picks(from+day(4).String()+"&dateTo="+day(6).String(), w.leg, w.full, w.bare)
	w.picks(from+(day(4)+1).String()+"&dateTo="+(day(6)-1).String(), w.full)
	dated("/call-logs?callSid="+fullSid, func(w *world) (newer, older uuid.UUID) { return w.leg, w.full }, 6, 5)(w)
}

func callSids(w *world) {
	w.picks("/call-logs?callSid="+fullSid, w.leg, w.full)
	w.picks("/call-logs?callSid="+bareSid, w.bare)
	sidsAreExact(w, "/call-logs")
}

// sidsAreExact holds a list's callSid filter against what is nearly one, and its bounds.
func sidsAreExact(w *world, list string) {
	given := list + "?callSid="
	for _, near := range []string{fullSid[:len(fullSid)-1], fullSid + "0", strings.ToLower(fullSid), "CA", "C", strings.Repeat("x", 64), strings.Repeat("%C3%AB", 64)} {
		w.picks(given + near)
	}
	w.judged(w.key, w.home(given), "400 VALIDATION_FAILED /callSid INVALID_FORMAT")
	w.judged(w.key, w.home(given+strings.Repeat("x", 65)), "400 VALIDATION_FAILED /callSid TOO_LONG")
}

func analysesOfACall(w *world) {
	w.picks("/call-analyses?callSid="+fullSid, w.analyzed)
	w.picks("/call-analyses?callSid="+bareSid, w.waiting)
	sidsAreExact(w, "/call-analyses")
	w.picks("/call-analyses?callLogId="+w.full.String(), w.analyzed)
	w.picks("/call-analyses?callLogId="+w.bare.String(), w.waiting)
	w.picks("/call-analyses?callLogId=" + w.leg.String())
	w.picks("/call-analyses?callLogId=" + w.analyzed.String())
	w.judged(w.key, w.home("/call-analyses?callLogId="+fullSid), "400 VALIDATION_FAILED /callLogId INVALID_FORMAT")
}

func recordingFilters(w *world) {
	w.picks("/recordings", fullSound, bareSound)
	w.picks("/recordings?status=ready", fullSound)
	w.picks("/recordings?status=processing", bareSound)
	w.judged(w.key, w.home("/recordings?status=unavailable"), "400 VALIDATION_FAILED /status NOT_ALLOWED")
	w.picks("/recordings?callSid="+fullSid, fullSound) // the leg's is unavailable
	w.picks("/recordings?callSid="+bareSid, bareSound)
	sidsAreExact(w, "/recordings")
	created := "2026-03-02T09:33:00.000Z"
	w.picks("/recordings?dateFrom="+created+"&dateTo="+created, fullSound, bareSound)
	w.picks("/recordings?dateFrom=2026-03-02T09:33:00.001Z")
	w.picks("/recordings?dateTo=2026-03-02T09:32:59.999Z")
}

func filtersCombine(w *world) {
	w.picks("/extensions?status=active&number=101", w.front)
	w.picks("/extensions?status=inactive&number=101")
	w.picks("/phones?status=inactive&extensionId="+w.front.String(), w.handset)
	w.picks("/phones?status=active&extensionId=" + w.front.String())
	w.picks("/agent-configs?status=active&agentNumber=3", w.ava)
	w.picks("/agent-configs?status=testing&agentNumber=3")
	w.picks("/phone-numbers?status=active&phoneNumber=%2B14155550100", w.mainNumber)
	w.picks("/phone-numbers?status=released&phoneNumber=%2B14155550100")
	w.picks("/call-groups?status=active&number=200", w.desk)
	w.picks("/call-groups?status=inactive&number=200")
	w.picks("/call-analyses?callSid="+fullSid+"&callLogId="+w.full.String(), w.analyzed)
	w.picks("/call-analyses?callSid=" + bareSid + "&callLogId=" + w.full.String())
	w.picks("/recordings?status=processing&callSid=" + fullSid)
	w.shows(w.key, w.home("/call-logs?callSid="+fullSid+"&pageSize=1&page=2"), "data.0.id", w.full)
}
