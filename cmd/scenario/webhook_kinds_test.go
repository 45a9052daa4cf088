package scenario_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	event "callboard/events/webhook"
	"callboard/projector/webhook/registry"
)

// hooks starts a sender with an endpoint of the phone system.
func (o *ownSystem) hooks() *hooks {
	o.Helper()
	return o.startHooks(registry.Target{Kind: registry.System, ID: o.system}, nil, nil)
}

// life publishes the life of a call and of its voicemail step by step. publish is called with each step.
func (o *ownSystem) life(voicemail uuid.UUID, publish func(...events.Event)) {
	message := o.voicemail(voicemail)
	publish(o.editCall(func(c *events.Call) { c.Status = "ringing" }))
	publish(o.editCall(func(c *events.Call) { c.Status = "in-progress" }))
	publish(o.editCall(func(c *events.Call) { c.Status, c.Duration = "completed", events.Some[int64](60) }))
	publish(o.recording(events.RecordingProcessing))
	publish(o.transcript("queued", ""))
	publish(o.recording(events.RecordingReady))
	publish(o.transcript("running", ""))
	publish(o.transcript("completed", "Good morning."))
	publish(o.analysis(func(a *events.Analysis) { a.Status = "pending" }))
	publish(o.analysis(func(*events.Analysis) {}))
	publish(message[0])
	publish(message[1])
	publish(message[2])
	publish(o.editCall(func(c *events.Call) { c.IsEdited = true }))
}

// eachKind publishes the life of a call, and compares the requests with the table of the contract: the identifiers, and nothing else. The
// requests have no order: an endpoint gets several at the same time.
func eachKind(f *fixture) {
	o := f.ownSystem()
	o.apply(o.editCall(func(c *events.Call) { c.Status = "queued" }))
	k, voicemail := o.hooks(), uuid.New()
	o.life(voicemail, o.apply)
	sid := o.latest.CallSid
	body := func(kind event.Kind, identifiers string, values ...any) string {
		return fmt.Sprintf(`{"type":%q,"timestamp":"...","data":{"phoneSystemId":%q,%s}}`, kind, o.system, fmt.Sprintf(identifiers, values...))
	}
	want := []string{
		body(event.CallEnded, `"callSid":%q`, sid),
		body(event.RecordingAvailable, `"callSid":%q,"recordingSid":"REown"`, sid),
		body(event.TranscriptionCompleted, `"callSid":%q,"callLogId":%q`, sid, o.call),
		body(event.AnalysisCompleted, `"callSid":%q,"callLogId":%q`, sid, o.call),
		body(event.VoicemailCreated, `"callSid":"CA1","voicemailId":%q`, voicemail),
		body(event.TranscriptionCompleted, `"callSid":"CA1","voicemailId":%q`, voicemail),
	}
	var got []string
	for _, r := range k.await(len(want)) {
		got = append(got, strings.Replace(r.body, r.Timestamp.UTC().Format("2006-01-02T15:04:05.000Z"), "...", 1))
		o.checkHeader(r.header)
	}
	slices.Sort(got)
	slices.Sort(want)
	o.equalStrings("requests", got, want)
}

func (o *ownSystem) checkHeader(header http.Header) {
	o.Helper()
	if key := header.Get("X-Api-Key") + header.Get("Authorization"); key != "" {
		o.Error("a request has a credential of the API, want none")
	}
	if got := header.Get("User-Agent") + " " + header.Get("Content-Type"); got != "callboard-webhooks/test application/json" {
		o.Errorf("User-Agent and Content-Type = %s, want callboard-webhooks/test application/json", got)
	}
}

// fires returns a prover that one event of a kind, and no other, follows from the last of some steps.
func fires(kind event.Kind, steps ...func(*ownSystem) events.Event) func(*fixture) {
	return func(f *fixture) {
		f.Helper()
		o := f.ownSystem()
		for _, step := range steps[:len(steps)-1] {
			o.apply(step(o))
		}
		k := o.hooks()
		o.apply(steps[len(steps)-1](o))
		k.await(1)
		if got := k.settle(); len(got) != 1 {
			o.Errorf("events = %v, want one", got)
		} else if got[0].Type != kind || got[0].Data.CallSid != o.latest.CallSid {
			o.Errorf("event = %s, want %s of %s", got[0].body, kind, o.latest.CallSid)
		}
	}
}

func transcriptFires(f *fixture) {
	step := func(status, text string) func(*ownSystem) events.Event {
		return func(o *ownSystem) events.Event { return o.transcript(status, text) }
	}
	each(
		fires(event.TranscriptionCompleted, step("completed", "One.")),
		fires(event.TranscriptionCompleted, step("running", ""), step("completed", "One.")),
		fires(event.TranscriptionCompleted, step("completed", "One."), step("removed", ""), step("completed", "Two.")),
	)(f)
}

func recordingFires(f *fixture) {
	step := func(status string) func(*ownSystem) events.Event {
		return func(o *ownSystem) events.Event { return o.recording(status) }
	}
	each(
		fires(event.RecordingAvailable, step(events.RecordingReady)),
		fires(event.RecordingAvailable, step(events.RecordingProcessing), step(events.RecordingReady)),
	)(f)
}

// Messages that arrive twice, late or in another order than things happened lead to the same events, once each.
func TestWebhooks_AnyOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	o := f.ownSystem()
	o.apply(o.editCall(func(c *events.Call) { c.Status = "queued" }))
	k := o.hooks()
	var list []events.Event
	o.life(uuid.New(), func(step ...events.Event) { list = append(list, step...) })
	for i := range list { // from the last to the first, then all of them again
		o.Publish(list[len(list)-1-i])
	}
	for _, e := range list {
		e.ID = uuid.NewString()
		o.Publish(e)
	}
	kinds := make(map[event.Kind]int)
	ids := make(map[string]bool)
	for _, r := range k.settle() {
		kinds[r.Type]++
		ids[r.ID] = true
	}
	o.equalJSON("the events", kinds, map[event.Kind]int{
		event.CallEnded: 1, event.RecordingAvailable: 1, event.TranscriptionCompleted: 2, event.VoicemailCreated: 1, event.AnalysisCompleted: 1,
	})
	if len(ids) != 6 {
		t.Errorf("ids = %d, want 6", len(ids))
	}
}

// A call that is deleted before its event is sent is told of all the same: it was fetchable. The fetch says that it is gone.
func TestWebhooks_DeletedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	o := newFixture(t).ownSystem()
	o.apply(o.editCall(func(c *events.Call) { c.Status = "queued" }))
	k := o.newHooks(registry.Target{Kind: registry.System, ID: o.system}, nil)
	// A sender that runs notices a pause within a second, and may send until then.
	if err := k.registry.Pause(t.Context(), k.id); err != nil {
		t.Fatal(err)
	}
	k.startSender(nil)
	ended := o.editCall(func(c *events.Call) { c.Status = "completed" })
	o.apply(ended)
	eventstest.Eventually(t, "a delivery waits", func() bool { return o.QueryInt("select count(*) from webhook.delivery") == 1 })
	o.apply(o.deletion(ended))
	if err := k.registry.Resume(t.Context(), k.id); err != nil {
		t.Fatal(err)
	}
	if got := k.await(1); got[0].Type != event.CallEnded {
		t.Errorf("event = %s, want call.ended", got[0].body)
	}
	o.expectOutcome(o.key, o.path("/call-logs/"+o.call.String()), "404 NOT_FOUND")
	if got := k.settle(); len(got) != 1 {
		t.Errorf("requests = %d, want 1", len(got))
	}
}

// A message that could not be applied fires when its retry makes something fetchable, once.
func TestWebhooks_DeadLetter(t *testing.T) {
	t.Parallel()
	o := newFixture(t).ownSystem()
	k := o.hooks()
	o.Exec("create function projection.refuse() returns trigger language plpgsql as $$ begin raise exception using errcode = '22000'; end $$")
	o.Exec("create trigger refuse before insert on projection.recording for each row when (new.recording_sid = 'REown') execute function projection.refuse()")
	o.apply(o.recording(events.RecordingReady))
	o.equalJSON("dead letters", o.QueryInt("select count(*) from control.dead_letter"), 1)
	if got := k.settle(); len(got) != 0 {
		t.Errorf("requests = %d, want none", len(got))
	}
	o.Exec("drop function projection.refuse() cascade")
	retried := time.Now().Truncate(time.Second)
	o.RetryDeadLetters()
	if got := k.await(1); got[0].Type != event.RecordingAvailable || got[0].Timestamp.Before(retried) {
		t.Errorf("event = %s, want the recording's", got[0].body)
	}
	o.RetryDeadLetters()
	if got := k.settle(); len(got) != 1 {
		t.Errorf("requests = %d, want 1", len(got))
	}
}
