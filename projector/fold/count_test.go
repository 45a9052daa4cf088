package fold_test

import (
	"maps"
	"testing"

	"callboard/events"
	"callboard/projector/fold"
)

func TestReferences_AreThoseOfTheCallAndItsAnalysis(t *testing.T) {
	w := newWorld()
	c, a := call(1), analysis(80, 3, 1)
	c.CallGroupID, c.AnsweredByExtensionID, c.FromExtensionID = events.Some(id(20)), events.Some(id(10)), events.Some(id(10))
	a.Category, a.CustomerSentiment = events.Some("sales"), &events.Sentiment{Code: "glad"}
	a.Representative = &events.RepresentativeRole{State: "identified", ID: events.Some(id(70))}
	w.apply(at(1, events.Changed(a)))
	if len(w.references) > 0 {
		t.Fatalf("an analysis without its call refers to %v", w.references)
	}
	w.apply(at(2, events.Changed(c)))
	want := map[fold.ReferenceKey]int64{
		{System: id(1), Family: "call_group", Key: id(20).String()}:     1,
		{System: id(1), Family: "extension", Key: id(10).String()}:      1,
		{System: id(1), Family: "representative", Key: id(70).String()}: 1,
		{System: id(1), Family: "category", Key: "sales"}:               1,
		{System: id(1), Family: "customer_sentiment", Key: "glad"}:      1,
	}
	if !maps.Equal(w.references, want) {
		t.Errorf("references %v, want %v", w.references, want)
	}
	again := analysis(80, 3, 2)
	w.apply(at(3, events.Changed(again)))
	for key := range want {
		if key.Family != "call_group" && key.Family != "extension" {
			delete(want, key)
		}
	}
	if !maps.Equal(w.references, want) {
		t.Errorf("references %v, want %v", w.references, want)
	}
}

func TestRecording_IsCountedByStatusOnceItsCallIsHere(t *testing.T) {
	w := newWorld()
	processing := recording("RE1", 30, 1)
	processing.Status = events.RecordingProcessing
	subsets := func() map[string]int64 {
		found := map[string]int64{}
		for key, n := range w.counts {
			if key.List == fold.ListRecording {
				found[key.Subset] += n
			}
		}
		return found
	}
	unavailable := recording("RE1", 30, 3)
	unavailable.Status = events.RecordingUnavailable
	for _, step := range []struct {
		name  string
		event events.Event
		want  map[string]int64
	}{
		{"before its call", events.Changed(processing), map[string]int64{}},
		{"processing", events.Changed(call(1)), map[string]int64{"": 1, "processing": 1}},
		{"ready", events.Changed(recording("RE1", 30, 2)), map[string]int64{"": 1, "ready": 1}},
		{"unavailable", events.Changed(unavailable), map[string]int64{}},
	} {
		w.apply(at(1, step.event))
		if got := subsets(); !maps.Equal(got, step.want) {
			t.Errorf("%s: counted %v, want %v", step.name, got, step.want)
		}
	}
}
