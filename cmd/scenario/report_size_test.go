package scenario_test

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

// The transport's budget for a report, and the guard's for what a page's transcripts are stored in.
const (
	maxBytes   = 5_500_000
	limitBytes = 8_000_000
)

// spoken is a phone system with calls of which each says a text, in order.
func (w *world) spoken(name string, texts ...string) (*reporting, []string) {
	w.t.Helper()
	b := w.bulk(name, func() bulk {
		r := w.reporting()
		ids := make([]string, 0, len(texts))
		for i, text := range texts {
			id := r.called(day(5) + events.Time(i))[0]
			r.happen(changed(transcript(r.system, uuid.MustParse(id), 1, "completed", text))...)
			ids = append(ids, id)
		}
		return bulk{r.system, r.key, ids}
	})
	return &reporting{world: w, system: b.system, key: b.key}, b.ids
}

// lines are texts that are twice as long once they are escaped.
func lines(count, size int) []string {
	texts := make([]string, count)
	for i := range texts {
		texts[i] = strings.Repeat("\"\n", size/2)
	}
	return texts
}

const withTranscripts = march + "&includeTranscripts=true"

// oversized is the answer to a page whose body is too large. What is stored of it is not.
func (w *world) oversized() answer {
	w.t.Helper()
	r, _ := w.spoken("large bodies", lines(8, 400_000)...)
	return r.get(r.key, r.path(withTranscripts))
}

// tooLarge holds a refusal against its params.
func (w *world) tooLarge(a answer, params ...string) {
	w.t.Helper()
	w.judge("oversized", a, "413 EXPORT_TOO_LARGE")
	w.same("the members", members(a.body), problemMembers("params"))
	w.holds("the problem", a.body, fields{"status": 413, "retryable": false})
	w.same("the params", members(a.body["params"]), params)
}

// encodedSize holds actualBytes against the body that would have been sent, put together from pages of one row.
func encodedSize(w *world) {
	r, ids := w.spoken("large bodies", lines(8, 400_000)...)
	a := r.get(r.key, r.path(withTranscripts))
	r.tooLarge(a, "actualBytes", "maxBytes")
	size := len(r.get(r.key, r.path(between(day(1), day(2)))).text) // a page without rows
	cursor := ""
	frame := size
	for i := range ids {
		page := r.get(r.key, r.path(withTranscripts+"&limit=1"+cursor))
		size += len(page.text) - frame
		if i > 0 {
			size += len(",")
		}
		if page.body["hasMore"] == true {
			size += len("false") - len("true")
		}
		cursor = "&cursor=" + page.cursor()
	}
	r.is("the params", a.body["params"], fields{"actualBytes": size, "maxBytes": maxBytes})
	if size <= maxBytes {
		r.t.Errorf("%d bytes are refused", size)
	}
}

// guarded is refused for what is stored, which is below the budget of what is sent where it is not escaped.
func guarded(w *world) {
	r, ids := w.spoken("large texts", lines(10, 900_000)...)
	a := r.get(r.key, r.path(withTranscripts))
	r.tooLarge(a, "guard", "limitBytes", "rowCount", "storedBytes")
	stored, _ := at(a.body, "params.storedBytes").(float64)
	r.is("the params", a.body["params"], fields{"guard": "stored_transcripts", "limitBytes": limitBytes, "rowCount": len(ids), "storedBytes": stored})
	if texts := 10 * 900_000.0; stored < texts || stored > texts+1000 {
		r.t.Errorf("%v bytes of %v are stored", stored, texts)
	}
}

// smallerPages reads an oversized window by smaller pages, and without transcripts.
func smallerPages(w *world) {
	r, ids := w.spoken("large bodies", lines(8, 400_000)...)
	r.judged(r.key, r.path(withTranscripts), "413 EXPORT_TOO_LARGE")
	r.same("by three", r.reported(withTranscripts+"&limit=3"), ids)
	r.same("without transcripts", r.reported(march), ids)
	r.same("at the same limit without", r.get(r.key, r.path(march+"&includeTranscripts=false&limit=25")).ids(), ids)
}

// singleTranscript walks into a transcript that is too large for any page, and past it.
func singleTranscript(w *world) {
	r, ids := w.spoken("a large text", "First.", strings.Repeat("\"\n", 1_450_000), "Last.")
	one := withTranscripts + "&limit=1"
	first := r.get(r.key, r.path(one))
	r.same("the first page", first.ids(), ids[:1])
	cursor := "&cursor=" + first.cursor()
	r.tooLarge(r.get(r.key, r.path(one+cursor)), "actualBytes", "maxBytes")
	replayed := r.get(r.key, r.path(march+"&limit=1&includeTranscripts=false"+cursor))
	r.same("the same cursor without transcripts", replayed.ids(), ids[1:2])
	last := r.get(r.key, r.path(one+"&cursor="+replayed.cursor()))
	r.same("the page after it", last.ids(), ids[2:])
	r.is("its transcript", at(last.body, "data.0.transcript.text"), "Last.")
	detail := r.read(r.key, fmt.Sprintf("/%s/call-logs/%s", r.system, ids[1]))
	if text, _ := detail["transcribedText"].(string); text != strings.Repeat("\"\n", 1_450_000) {
		r.t.Errorf("the detail has %d bytes", len(text))
	}
}

// labelled refers to definitions whose labels are too much for one answer.
func (w *world) labelled() bulk {
	o := w.office()
	label := strings.Repeat("\"\n", 50_000)
	for i := range 8 {
		code := fmt.Sprint("code_", i)
		c := o.latest
		c.ID, c.Version = uuid.New(), o.next()
		o.happen(events.Changed(&c), events.Changed(&events.Analysis{
			ID: c.ID, PhoneSystemID: o.system, Version: 1, CallID: c.ID, CallSid: c.CallSid, Status: "completed", CreatedAt: day(5),
			Category: events.Some(code), OverallSentiment: &events.Sentiment{Code: code}, EmployeeSentiment: &events.Sentiment{Code: code},
			CustomerSentiment: &events.Sentiment{Code: code},
		}))
		for _, kind := range []string{"category", "overall_sentiment", "employee_sentiment", "customer_sentiment"} {
			o.happen(o.classification(kind, code, label))
		}
	}
	return bulk{system: o.system, key: o.key}
}

// oversizedSnapshot asks for a snapshot that is too large, and tries what might narrow it.
func oversizedSnapshot(w *world) {
	b := w.bulk("large labels", w.labelled)
	path := "/" + b.system.String() + dimensionsPath
	a := w.get(b.key, path)
	w.tooLarge(a, "actualBytes", "maxBytes")
	if actual, _ := at(a.body, "params.actualBytes").(float64); actual < 32*200_000 || at(a.body, "params.maxBytes") != float64(maxBytes) {
		w.t.Errorf("params are %v", a.body["params"])
	}
	for _, narrower := range []string{"limit", "pageSize", "family", "cursor"} {
		w.judged(b.key, path+"?"+narrower+"=1", "400 VALIDATION_FAILED /"+narrower+" UNKNOWN_PARAMETER")
	}
	w.judged(b.key, path, "413 EXPORT_TOO_LARGE")
}
