package sample

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

// Directory yields all entities that exist before the first call, each before the entities that refer to it.
func (c *Company) Directory() iter.Seq[events.Event] {
	return func(yield func(events.Event) bool) {
		at := c.from - day
		states := states(c.systems[0].library.classifications())
		for _, s := range c.systems {
			states = append(states, s.entities()...)
		}
		for _, g := range c.groups {
			states = append(states, &g)
		}
		for _, state := range states {
			e := envelope(events.Changed(state), at)
			if e.System == uuid.Nil {
				e.ID = strconv.FormatUint(c.seed, 10) + "/" + e.ID // another company publishes its own events of these entities
			}
			if !yield(e) {
				return
			}
		}
	}
}

// entities are the system's entities in their first state. They are copies, which the receiver of an event may change.
func (s *system) entities() []events.State {
	system := s.state()
	all := []events.State{&system}
	for _, x := range s.extensions {
		if state := x.Extension; x.from == 0 {
			all = append(all, &state)
		}
	}
	all = slices.Concat(all, states(s.phones), states(s.numbers), states(s.agents))
	for _, g := range s.groups {
		state := g.CallGroup
		all = append(all, &state)
	}
	all = append(all, states(s.menus)...)
	for _, r := range s.representatives {
		state := r.Representative
		all = append(all, &state)
	}
	return append(all, states(s.classes)...)
}

func (s *system) state() events.PhoneSystem {
	return events.PhoneSystem{ID: s.id, Version: 1, Name: s.name, OrganizationID: s.organization}
}

// states copies entities.
func states[T any, P interface {
	*T
	events.State
}](entities []*T) []events.State {
	all := make([]events.State, len(entities))
	for i, entity := range entities {
		state := *entity
		all[i] = P(&state)
	}
	return all
}

// envelope completes an event. Its identifier follows from its contents, so that an event that is published again is
// recognized.
func envelope(e events.Event, at events.Time) events.Event {
	system := events.Global
	if e.System != uuid.Nil {
		system = e.System.String()
	}
	e.ID = system + "/" + string(e.Entity) + "/" + e.Key + "/" + strconv.FormatInt(e.Version, 10)
	e.Source = "https://phones.example/" + service(e.Entity)
	e.Time = at.Std()
	return e
}

// service is the service that publishes an entity.
func service(entity events.Entity) string {
	switch entity {
	case events.EntityCall, events.EntityVoicemail:
		return "telephony"
	case events.EntityRecording:
		return "media"
	case events.EntityTranscript:
		return "transcription"
	case events.EntityAnalysis:
		return "insights"
	default:
		return "directory"
	}
}

// The kinds of sentiment.
const (
	overall  = "overall_sentiment"
	employee = "employee_sentiment"
	customer = "customer_sentiment"
)

// sentiment is a classification of a call.
type sentiment struct {
	kind, code, label string
	score             int // in hundredths, from -100 to 100
}

func sentiments() []sentiment {
	return []sentiment{
		{overall, "positive", "Positive", 100}, {overall, "neutral", "Neutral", 0},
		{overall, "mixed", "Mixed", -20}, {overall, "negative", "Negative", -100},
		{employee, "helpful", "Helpful", 100}, {employee, "neutral", "Neutral", 0}, {employee, "impatient", "Impatient", -60},
		{customer, "delighted", "Delighted", 100}, {customer, "satisfied", "Satisfied", 60}, {customer, "neutral", "Neutral", 0},
		{customer, "frustrated", "Frustrated", -60}, {customer, "angry", "Angry", -100},
	}
}

// classifications are the global classifications: all sentiments, and most categories of all trades. Four categories are
// left out: readers make a label from their code. They are the same whichever company publishes them.
func (l *library) classifications() []*events.Classification {
	const at = events.Time(1_577_836_800_000) // 2020-01-01

	var all []*events.Classification
	for _, s := range sentiments() {
		all = append(all, &events.Classification{
			Version: 1, Kind: s.kind, Code: s.code, Label: s.label, Status: "active",
			Score: events.Some(float64(s.score) / 100), UpdatedAt: at,
		})
	}
	skip := map[string]bool{"": true, "sales": true, "farewell": true, "unclear": true, "job_application": true}
	for _, t := range l.trades {
		for _, kind := range []string{"inbound", "outbound", "internal", "brief", "message"} {
			for _, topic := range t.topics[kind] {
				if code := topic.category; !skip[code] {
					skip[code] = true
					label := strings.ToUpper(code[:1]) + strings.ReplaceAll(code[1:], "_", " ")
					all = append(all, category(code, label, at))
				}
			}
		}
	}
	return all
}

func category(code, label string, at events.Time) *events.Classification {
	return &events.Classification{Version: 1, Kind: events.KindCategory, Code: code, Label: label, Status: "active", UpdatedAt: at}
}

// addClassifications gives most businesses labels that override the global ones.
func (s *system) addClassifications(rng *random) {
	if rng.chance(300) {
		return
	}
	at := s.createdAt + 45*day
	s.classes = append(s.classes, category("information", "Just a question", at), category("complaint", "Escalation", at))
	if rng.chance(500) {
		s.classes = append(s.classes, &events.Classification{
			Kind: overall, Code: "negative", Label: "Needs attention", Score: events.Some(-1.0), Version: 1, Status: "active", UpdatedAt: at,
		})
	}
	for _, class := range s.classes {
		class.PhoneSystemID = events.Some(s.id)
	}
}
