package fold_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/events"
	"callboard/events/webhook"
	"callboard/projector/fold"
)

// told folds a batch and returns its notices, without those of what passed within it.
func (f *fixture) told(batch ...timedEvent) (all []fold.Notice) {
	f.Notify = true
	f.apply(batch...)
	return f.Told
}

// fetchableRows is the model: everything whose follow-up request succeeds, by what identifies it, with its version.
func fetchableRows(f *fixture) map[string]int64 {
	all := make(map[string]int64)
	add := func(kind webhook.Kind, system uuid.UUID, key any, version int64) {
		all[fmt.Sprint(kind, " ", system, " ", key)] = version
	}
	for key, call := range f.CallLogs {
		if slices.Contains([]string{"completed", "no-answer", "busy", "failed", "canceled"}, call.Status) || call.EndTime.Valid {
			add(webhook.CallEnded, key.System, key.ID, 0)
		}
	}
	for key, row := range f.Recordings {
		if _, ok := f.CallLogs[fold.Key{System: key.System, ID: row.OwnerRow.ID}]; ok && row.OwnerRow.Entity == events.EntityCall && row.Status == "ready" {
			add(webhook.RecordingAvailable, key.System, key.Sid, row.Version)
		}
	}
	for key, row := range f.Transcripts {
		_, call := f.CallLogs[fold.Key{System: key.System, ID: key.ID}]
		_, voicemail := f.Voicemails[fold.Key{System: key.System, ID: key.ID}]
		if row.Status == "completed" && (key.Entity == events.EntityCall && call || key.Entity == events.EntityVoicemail && voicemail) {
			add(webhook.TranscriptionCompleted, key.System, key.Key(), row.Version)
		}
	}
	for key, row := range f.Voicemails {
		add(webhook.VoicemailCreated, key.System, key.ID, row.Version)
	}
	for key, row := range f.Analyses {
		if _, ok := f.CallLogs[fold.Key{System: key.System, ID: row.CallID}]; ok && row.Status == "completed" {
			add(webhook.AnalysisCompleted, key.System, key.ID, row.Version)
		}
	}
	return all
}

func described(notices []fold.Notice) []string {
	list := make([]string, 0, len(notices))
	for _, n := range notices {
		list = append(list, fmt.Sprint(n.Kind, " ", n.Data.PhoneSystemID, " ", n.Key, " version ", n.Version))
	}
	return list
}

// A notice is written if, and only if, something is fetchable after the message and was not before it.
func TestNotices_AgreeWithWhatIsFetchable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFixture()
		for _, e := range randomHistory(t) {
			before := fetchableRows(f)
			got := f.told(e)
			var want []string
			for key, version := range fetchableRows(f) {
				if _, was := before[key]; !was {
					want = append(want, fmt.Sprint(key, " version ", version))
				}
			}
			sorted := slices.Sorted(slices.Values(described(got)))
			if slices.Sort(want); !slices.Equal(sorted, want) {
				t.Fatalf("after %s: notices = %q, want %q", e.Type(), sorted, want)
			}
			order := make([]int, len(got))
			for i, n := range got {
				order[i] = slices.Index(webhook.Kinds(), n.Kind)
			}
			if !slices.IsSorted(order) {
				t.Fatalf("after %s: notices = %q, want the order of the kinds", e.Type(), described(got))
			}
		}
	})
}

// The batches don't matter, except for what was fetchable within one of them only. What is fetchable at the end was
// told as such.
func TestNotices_AnyBatching(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := randomHistory(t)
		one, many := newFixture(), newFixture()
		single := make(map[string]bool)
		for _, e := range history {
			for _, n := range one.told(e) {
				single[n.EventID()] = true
			}
		}
		batched := make(map[string]bool)
		for rest := history; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "batch")
			for _, notice := range many.told(rest[:n]...) {
				if !single[notice.EventID()] {
					t.Fatalf("notice of a batch = %q, want one that single messages give", described([]fold.Notice{notice}))
				}
				batched[notice.EventID()] = true
			}
			rest = rest[n:]
		}
		if len(batched) > len(single) || len(history) > 0 && len(fetchableRows(many)) > len(batched) {
			t.Fatalf("events of batches = %d, of single messages = %d, fetchable = %d", len(batched), len(single), len(fetchableRows(many)))
		}
	})
}

// life returns the events of a call and its facets. The analysis has another callSid than the call.
func life(system, call uuid.UUID) (ended, recording, transcript, analysis events.Event) {
	owner := events.Some(call)
	return events.Changed(&events.Call{ID: call, PhoneSystemID: system, Version: 1, CallSid: "CA1", Direction: "inbound", Status: "completed"}),
		events.Changed(&events.Recording{
			RecordingSid: "RE1", PhoneSystemID: system, Version: 2, CallID: owner, Status: events.RecordingReady,
			Audio: &events.Audio{Key: "k", ContentType: "audio/mpeg", Bytes: 1},
		}),
		events.Changed(&events.Transcript{PhoneSystemID: system, Version: 3, CallID: owner, Status: events.TranscriptCompleted, Text: events.Some("t")}),
		events.Changed(&events.Analysis{ID: id(9), PhoneSystemID: system, Version: 4, CallID: call, CallSid: "CA2", Status: events.AnalysisCompleted})
}

// Facets arrive before or after their call, in all 24 orders, one message a batch or all in one: the same four events.
func TestNotices_AnyOrderOfFacets(t *testing.T) {
	system, call := id(1), id(2)
	ended, recording, transcript, analysis := life(system, call)
	all := []events.Event{ended, recording, transcript, analysis}
	want := map[string]string{
		webhook.ID(webhook.CallEnded, system, call.String(), 0):                      `"callSid":"CA1"}`,
		webhook.ID(webhook.RecordingAvailable, system, "RE1", 2):                     `"callSid":"CA1","recordingSid":"RE1"}`,
		webhook.ID(webhook.TranscriptionCompleted, system, "call/"+call.String(), 3): `"callSid":"CA1","callLogId":"` + call.String() + `"}`,
		webhook.ID(webhook.AnalysisCompleted, system, id(9).String(), 4):             `"callSid":"CA2","callLogId":"` + call.String() + `"}`,
	}
	for n := range 24 {
		order := permutation(all, n)
		single, once := newFixture(), newFixture()
		var notices []fold.Notice
		for _, e := range order {
			notices = append(notices, single.told(timedEvent{Event: e})...)
		}
		batch := make([]timedEvent, len(order))
		for i, e := range order {
			batch[i] = timedEvent{Event: e}
		}
		for what, list := range map[string][]fold.Notice{"single messages": notices, "one batch": once.told(batch...)} {
			got := make(map[string]string)
			for _, notice := range list {
				body := string(webhook.Event{Type: notice.Kind, Data: notice.Data}.Body())
				got[notice.EventID()] = body[len(`{"type":"","timestamp":"1970-01-01T00:00:00.000Z","data":{"phoneSystemId":"",`)+len(notice.Kind)+36 : len(body)-1]
			}
			if len(list) != 4 || !maps.Equal(got, want) {
				t.Errorf("order %d, %s: events = %v, want %v", n, what, got, want)
			}
		}
	}
}

// permutation returns the n-th order of four events.
func permutation(all []events.Event, n int) (order []events.Event) {
	rest := slices.Clone(all)
	for k := len(rest); k > 0; k-- {
		order = append(order, rest[n%k])
		rest = slices.Delete(rest, n%k, n%k+1)
		n /= k
	}
	return order
}

// What passes and comes back within a batch is told once, as it is at the end.
func TestNotices_WithinABatch(t *testing.T) {
	system, call := id(1), id(2)
	ended, recording, _, _ := life(system, call)
	state := *recording.State.(*events.Recording)
	unavailable, again := state, state
	unavailable.Version, unavailable.Status, unavailable.Audio = 5, events.RecordingUnavailable, nil
	again.Version = 6
	batch := func(list ...events.Event) (timed []timedEvent) {
		for _, e := range list {
			timed = append(timed, timedEvent{Event: e})
		}
		return timed
	}
	for what, c := range map[string]struct {
		batch []timedEvent
		want  string
	}{
		"ready":               {batch(ended, recording), "[call.ended 0 call.recording.available 2]"},
		"ready, then not":     {batch(ended, recording, events.Changed(&unavailable)), "[call.ended 0]"},
		"ready again":         {batch(ended, recording, events.Changed(&unavailable), events.Changed(&again)), "[call.ended 0 call.recording.available 6]"},
		"ready, call deleted": {batch(ended, recording, events.Deleted(events.Identity{Entity: events.EntityCall, System: system, Key: call.String(), Version: 9})), "[]"},
	} {
		var got []string
		for _, n := range newFixture().told(c.batch...) {
			got = append(got, fmt.Sprint(n.Kind, " ", n.Version))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: notices = %v, want %s", what, got, c.want)
		}
	}
}
