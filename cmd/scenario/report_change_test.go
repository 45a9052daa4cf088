package scenario_test

import (
	"maps"
	"reflect"

	"github.com/google/uuid"

	"callboard/events"
)

// changes publishes one change after another. Each has to show in the report row, and to move updatedAt or to leave it.
func (o *office) changes(moves bool, list ...events.Event) {
	o.t.Helper()
	before := o.row()
	for _, e := range list {
		o.happen(e)
		after := o.row()
		was, is := before["updatedAt"].(string), after["updatedAt"].(string)
		if sameBut("updatedAt", before, after) {
			o.t.Errorf("%s shows nothing: %v", e.Type(), after)
		}
		if moves && is <= was || !moves && is != was {
			o.t.Errorf("%s: updatedAt was %s and is %s, should it move: %v", e.Type(), was, is, moves)
		}
		before = after
	}
}

// sameBut compares objects but for one member.
func sameBut(name string, a, b map[string]any) bool {
	a, b = maps.Clone(a), maps.Clone(b)
	delete(a, name)
	delete(b, name)
	return reflect.DeepEqual(a, b)
}

// advances proves that changes of a kind move updatedAt, in an office whose call refers to nothing yet.
func advances(list func(*office) []events.Event) func(*world) {
	return func(w *world) {
		o := w.office()
		o.changes(true, list(o)...)
	}
}

// stays proves that changes of a kind leave updatedAt, in an office whose call refers to everything.
func stays(list func(*office) []events.Event) func(*world) {
	return func(w *world) {
		o := w.office()
		o.involved()
		o.changes(false, list(o)...)
	}
}

func analysesArrive(o *office) []events.Event {
	sentiment := func(set func(*events.Analysis, *events.Sentiment)) events.Event {
		return o.findings(func(a *events.Analysis) {
			a.Category = events.Some("a")
			set(a, &events.Sentiment{Code: "calm", Score: events.Some(0.5)})
		})
	}
	return []events.Event{
		o.findings(func(a *events.Analysis) { a.Category = events.Some("a") }),
		sentiment(func(a *events.Analysis, s *events.Sentiment) { a.OverallSentiment = s }),
		sentiment(func(a *events.Analysis, s *events.Sentiment) { a.EmployeeSentiment = s }),
		sentiment(func(a *events.Analysis, s *events.Sentiment) { a.CustomerSentiment = s }),
		o.findings(func(a *events.Analysis) { a.SentimentSource = events.Some("model") }),
		o.findings(func(a *events.Analysis) { a.Representative = &events.RepresentativeRole{State: "unknown"} }),
	}
}

func outcomesEdited(o *office) []events.Event {
	return []events.Event{
		o.edited(func(c *events.Call) { c.Outcome = events.Some("answered") }),
		o.edited(func(c *events.Call) { c.CallOutcomeCode = events.Some("booked") }),
		o.edited(func(c *events.Call) { c.OutcomeSource = events.Some("agent") }),
		o.edited(func(c *events.Call) { c.IsConverted = true }),
		o.edited(func(c *events.Call) { c.ConversionValue = events.Some("10.00") }),
		o.edited(func(c *events.Call) { c.ConversionValue = events.Some("10.0") }),
		o.edited(func(c *events.Call) { c.IsEdited = true }),
	}
}

func scorecardsArrive(o *office) []events.Event {
	return []events.Event{
		o.findings(func(a *events.Analysis) { a.ScorecardScore = events.Some(71.5) }),
		o.findings(func(a *events.Analysis) { a.ScorecardScore = events.Some(72.0) }),
	}
}

func transcriptsComeAndGo(o *office) []events.Event {
	return []events.Event{
		o.transcribed("running", ""), o.transcribed("completed", "One."), o.transcribed("completed", "Two."), o.transcribed("removed", ""),
		o.transcribed("completed", "Three."), o.gone(o.transcribed("completed", "Three.")),
	}
}

func tagsComeAndGo(o *office) []events.Event {
	tag := func(n byte) events.Tag {
		return events.Tag{ID: uuid.UUID{n}, Name: "N", Group: "g", Color: "#000", Source: "s"}
	}
	tagged := func(tags ...events.Tag) events.Event { return o.edited(func(c *events.Call) { c.Tags = tags }) }
	return []events.Event{tagged(tag(1)), tagged(tag(1), tag(2)), tagged(tag(2)), tagged()}
}

// cleared proves that the end of what the call refers to, and then the publisher's own clearing of the reference, leave updatedAt.
func (o *office) cleared(end events.Event, clearing func() events.Event, want fields) {
	o.t.Helper()
	o.changes(false, end)
	before := o.row()
	o.holds("the row", before, want)
	o.happen(clearing())
	o.is("the row once the reference is cleared too", o.row(), before)
}

func callGroupCleared(w *world) {
	o := w.office()
	o.involved()
	o.cleared(endOfCallGroup(o), func() events.Event {
		return o.edited(func(c *events.Call) { c.CallGroupID = events.Null[uuid.UUID]{} })
	}, fields{"callGroup": nil})
}

func extensionCleared(w *world) {
	o := w.office()
	o.involved()
	o.cleared(endOfExtension(o), func() events.Event {
		return o.edited(func(c *events.Call) {
			c.AnsweredByExtensionID, c.FromExtensionID = events.Null[uuid.UUID]{}, events.Null[uuid.UUID]{}
		})
	}, fields{"answeredByExtension": nil, "fromExtension": nil})
}

func representativeCleared(w *world) {
	o := w.office()
	o.involved()
	o.changes(false, o.gone(o.representative(o.call, "", "")))
	o.holds("the row", o.row(), fields{"representative": nil})
}

func endOfCallGroup(o *office) events.Event { return o.gone(o.callGroup(o.call, "", "")) }

func endOfExtension(o *office) events.Event { return o.gone(o.extension(o.call, "", "")) }
