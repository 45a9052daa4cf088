package sample

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

// system is one business with its phones. It never changes; what becomes of it during History is in the entities' terms and in the
// company's changes.
type system struct {
	library      *library
	index        uint64
	seed         uint64
	id           uuid.UUID
	name         string
	organization events.Null[uuid.UUID]
	trade        *trade
	exchange     *exchange
	born         events.Time

	extensions []*extension
	phones     []*events.Phone
	numbers    []*events.PhoneNumber
	agents     []*events.AgentConfig
	groups     []*callGroup
	menus      []*events.CallMenu
	people     []*representative
	classes    []*events.Classification
	tags       []events.Tag

	numbered  []number // numbers, as people write them
	recorded  bool     // calls are recorded and, mostly, transcribed and analyzed
	calls     int
	calendar  calendar
	patience  events.Time
	assistant string // the name it goes by
}

// term is the time during which calls may involve an entity.
type term struct {
	from, until events.Time
}

// forever is later than every window's end.
const forever events.Time = 1 << 60

func (t term) covers(at events.Time) bool { return t.from <= at && at < t.until }

type extension struct {
	events.Extension
	term   // from 0: there from the beginning
	person person
	shared bool
}

type callGroup struct {
	events.CallGroup
	term
	latest *events.CallGroup // after the changes planned so far; nil for none
}

type representative struct {
	events.Representative
	term
	extension *extension
}

// builder makes a company.
type builder struct {
	company *Company
	library *library
	dice    dice
}

// system makes the i-th system.
func (b *builder) system(i int) *system {
	d := newDice(b.company.seed, systemPath, uint64(i))
	s := &system{
		library: b.library, index: uint64(i), seed: b.company.seed, id: d.uuid(),
		trade:    b.library.trades[i%len(b.library.trades)],
		exchange: &b.library.exchanges[i%len(b.library.exchanges)],
		born:     b.company.from - events.Time(d.between(60, 900))*day,
		recorded: !d.chance(120),
	}
	s.assistant = pick(&d, []string{"Robin", "Ada", "Casey"})
	s.name = s.fill(&d, pick(&d, s.trade.lists["business"]))
	s.organization = b.organization(i, s)
	s.hire(&d)
	s.installPhones(&d)
	s.connectNumbers(&d)
	s.configureAgents(&d)
	s.formGroups(&d)
	s.recordMenus(&d)
	s.nameRepresentatives(&d)
	s.defineTags(&d)
	s.overrideClasses(&d)
	return s
}

// organization attaches three systems in four to an organization. Four in a row share one, named after the first one's trade.
func (b *builder) organization(i int, s *system) events.Null[uuid.UUID] {
	if i%4 == 0 {
		names := s.trade.lists["organization"]
		b.company.organizations = append(b.company.organizations, Target{b.dice.uuid(), names[i/4%len(names)]})
	}
	if i%4 == 3 {
		return events.Null[uuid.UUID]{}
	}
	return events.Some(b.company.organizations[i/4].ID)
}

// maxMembers bounds a group's event, which lists all members.
const maxMembers = 500

// formGroups puts every second and every third system into a group.
func (b *builder) formGroups() {
	for i, name := range []string{"Pilot customers", "Extended support"} {
		g := events.Group{ID: b.dice.uuid(), Version: 1, Name: name}
		for j := 0; j < len(b.company.systems) && len(g.PhoneSystemIDs) < maxMembers; j += i + 2 {
			g.PhoneSystemIDs = append(g.PhoneSystemIDs, b.company.systems[j].id)
		}
		b.company.groups = append(b.company.groups, g)
	}
}

// fill puts names into a pattern such as "{last} & {last2} Law".
func (s *system) fill(d *dice, pattern string) string {
	w := parseWording(pattern)
	for i := 1; i < len(w); i += 2 {
		switch w[i] {
		case "place":
			w[i] = pick(d, s.library.places)
		default:
			w[i] = pick(d, s.library.last)
		}
	}
	return strings.Join(w, "")
}

// hire gives everybody an extension, from 101 on, and the shared rooms after them.
func (s *system) hire(d *dice) {
	for i := range d.between(6, 13) {
		p := s.library.person(d)
		for slices.ContainsFunc(s.extensions, func(x *extension) bool { return x.person == p }) {
			p = s.library.person(d)
		}
		s.addExtension(d, strconv.Itoa(101+i), p.name()).person = p
	}
	for i, room := range s.trade.lists["shared"] {
		s.addExtension(d, strconv.Itoa(150+i), room).shared = true
	}
}

func (s *system) addExtension(d *dice, number, name string) *extension {
	created := s.born + events.Time(d.between(0, 40))*day
	x := &extension{term: term{0, forever}, Extension: events.Extension{
		ID: d.uuid(), PhoneSystemID: s.id, Version: 1, Number: number, Name: name, Status: "active",
		CreatedAt: created, UpdatedAt: created + events.Time(d.between(0, 20*24))*hour,
	}}
	own := s.refer("extension-voicemail", x.ID)
	x.UnansweredAction = &events.Action{Type: own.Type, Reference: &own}
	if d.chance(150) {
		x.UnansweredAction = &events.Action{Type: "forward", Literal: events.Some(s.exchange.number(900 + d.below(99)).e164)}
	}
	x.VoicemailGreeting = &events.Playback{Kind: "default"}
	if d.chance(600) {
		x.VoicemailGreeting = &events.Playback{Kind: "recording", URL: mediaURL(s.id.String(), "greetings/"+number)}
	}
	s.extensions = append(s.extensions, x)
	return x
}

func (s *system) refer(kind string, id uuid.UUID) events.Reference {
	return events.Reference{Type: kind, ID: id, PhoneSystemID: s.id}
}
