// Package sample simulates a phone company: small businesses with their phones, people and callers, and the change
// events that their services publish. It provides data for demonstrations, load tests and tests.
//
// A [Company] is a function of its [Config]. The same configuration gives the same events, byte for byte, on every
// machine: identifiers, times and texts follow from the seed, and no clock is read. [Publish] publishes a company.
//
// Each arrow is an event; steps in parentheses do not always happen:
//
//	call         -> ended (-> outcome known) (-> edited) (-> tagged) (-> deleted)
//	recording    (-> processing) -> ready | unavailable (-> deleted)
//	transcript   -> queued (-> running) -> completed | failed | skipped (-> removed)
//	analysis     (-> pending) (-> processing) -> completed | failed
//	voicemail    -> left (-> listened) (-> archived) (-> deleted)
//
// A transcript is queued before its call or voicemail is published. History ends in the middle of things: what would
// happen to the newest calls after its end is missing.
//
// Phone numbers are from ranges that are reserved for fiction, and all web addresses end in .example.
package sample

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"callboard/events"
)

// Config describes a company. The zero value of a field means its default.
type Config struct {
	Seed    uint64
	Systems int       // phone systems; default 4
	Calls   int       // the exact number of call identifiers in History; a transferred call has several; default 0
	Until   time.Time // the end of History; default 2026-03-01T00:00:00Z
	Days    int       // the length of History; default 28
}

// Company is a phone company with its customers. It is immutable and safe for concurrent use.
type Company struct {
	seed          uint64
	calls         int
	from, until   events.Time
	systems       []*system
	groups        []*events.Group
	organizations []Target
}

// Target is a phone system, a group or an organization: an API key can be issued for it.
type Target struct {
	ID   uuid.UUID
	Name string
}

// Lengths of time.
const (
	second events.Time = 1000
	minute             = 60 * second
	hour               = 60 * minute
	day                = 24 * hour
)

// New builds the company that config describes. Its memory depends on the number of systems only.
func New(config Config) *Company {
	until := events.TimeOf(config.Until)
	if config.Until.IsZero() {
		until = events.TimeOf(time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC))
	}
	days := max(cmp.Or(config.Days, 28), 1)
	c := &Company{seed: config.Seed, calls: max(config.Calls, 0), from: until - events.Time(days)*day, until: until}
	rng := newRandom(c.seed, "company")

	var texts []*texts
	for _, trade := range trades() {
		texts = append(texts, readTexts(trade))
	}

	for i := range max(cmp.Or(config.Systems, 4), 1) {
		s := newSystem(c, i, texts[i%len(texts)])

		// Of four systems in a row, three belong to one organization and the last to none.
		if i%4 == 0 {
			c.organizations = append(c.organizations, Target{rng.uuid(), pick(rng, s.lists["organization"])})
		}
		if i%4 != 3 {
			s.state.OrganizationID = events.Some(c.organizations[i/4].ID)
		}

		c.systems = append(c.systems, s)
	}

	// Every second and every third system is in a group. A group's event lists at most 500.
	for i, name := range []string{"Pilot customers", "Extended support"} {
		g := &events.Group{ID: rng.uuid(), Version: 1, Name: name}
		for j := 0; j < len(c.systems) && len(g.PhoneSystemIDs) < 500; j += i + 2 {
			g.PhoneSystemIDs = append(g.PhoneSystemIDs, c.systems[j].state.ID)
		}
		c.groups = append(c.groups, g)
	}

	return c
}

// Systems are the phone systems, with their names at the start of History.
func (c *Company) Systems() []Target {
	var targets []Target
	for _, s := range c.systems {
		targets = append(targets, Target{s.id, s.state.Name})
	}
	return targets
}

// Groups are the phone system groups.
func (c *Company) Groups() []Target {
	var targets []Target
	for _, g := range c.groups {
		targets = append(targets, Target{g.ID, g.Name})
	}
	return targets
}

// Organizations are the organizations that own phone systems.
func (c *Company) Organizations() []Target { return slices.Clone(c.organizations) }

// Calls is the number of call identifiers in History.
func (c *Company) Calls() int { return c.calls }

// Events yields Directory, then History.
func (c *Company) Events() iter.Seq[events.Event] {
	return func(yield func(events.Event) bool) {
		for _, part := range []iter.Seq[events.Event]{c.Directory(), c.History()} {
			for e := range part {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Directory yields all entities that exist before the first call.
func (c *Company) Directory() iter.Seq[events.Event] {
	return func(yield func(events.Event) bool) {
		states := classifications()
		for _, s := range c.systems {
			states = append(states, s.directory...)
		}
		for _, g := range c.groups {
			states = append(states, g)
		}

		// Everything exists a day before the first call.
		for _, state := range states {
			e := envelope(c.from-day, events.Changed(state))
			if e.System == uuid.Nil {
				e.ID = fmt.Sprint(c.seed, "/", e.ID) // another company publishes its own events of these entities
			}

			if !yield(e) {
				return
			}
		}
	}
}

// envelope completes an event. Its identifier follows from its contents, so that an event that is published again is
// recognized.
func envelope(at events.Time, e events.Event) events.Event {
	system := events.Global
	if e.System != uuid.Nil {
		system = e.System.String()
	}

	// Each service publishes its own entities.
	service := map[events.Entity]string{
		events.EntityCall: "telephony", events.EntityVoicemail: "telephony", events.EntityRecording: "media",
		events.EntityTranscript: "transcription", events.EntityAnalysis: "insights",
	}[e.Entity]

	e.ID = fmt.Sprint(system, "/", e.Entity, "/", e.Key, "/", e.Version)
	e.Source = "https://phones.example/" + cmp.Or(service, "directory")
	e.Time = at.Std()
	return e
}

// The kinds of sentiment.
const (
	overall  = "overall_sentiment"
	employee = "employee_sentiment"
	customer = "customer_sentiment"
)

// sentiment is a classification of calls about topics of some tones.
type sentiment struct {
	kind, code string
	score      int // in hundredths, from -100 to 100
	tones      string
}

func sentiments() []sentiment {
	return []sentiment{
		{overall, "positive", 100, "good"}, {overall, "neutral", 0, "plain"}, {overall, "mixed", -20, "bad"},
		{overall, "negative", -100, "bad"},
		{employee, "helpful", 100, "good plain bad"}, {employee, "neutral", 0, "plain bad"},
		{employee, "impatient", -60, "bad"},
		{customer, "delighted", 100, "good"}, {customer, "satisfied", 60, "good plain"},
		{customer, "neutral", 0, "plain"},
		{customer, "frustrated", -60, "bad"}, {customer, "angry", -100, "bad"},
	}
}

// classifications are the global classifications, the same for all companies: all sentiments, and the usual
// categories. Readers make a label for the other categories from their code.
func classifications() []events.State {
	const at = events.Time(1_577_836_800_000) // 2020-01-01

	var all []events.State
	for _, s := range sentiments() {
		class := classification(s.kind, s.code, label(s.code), at)
		class.Score = events.Some(float64(s.score) / 100)
		all = append(all, class)
	}

	categories := "appointment information billing complaint callback emergency quote order new_client reminder status"
	for code := range strings.FieldsSeq(categories) {
		all = append(all, classification(events.KindCategory, code, label(code), at))
	}
	return all
}

func label(code string) string {
	return strings.ToUpper(code[:1]) + strings.ReplaceAll(code[1:], "_", " ")
}

func classification(kind, code, label string, at events.Time) *events.Classification {
	return &events.Classification{Version: 1, Kind: kind, Code: code, Label: label, Status: "active", UpdatedAt: at}
}
