package sample

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

// system is one business with its phones, at the start of History. It is immutable. What changes during History is in the
// entities' terms and in the company's changes.
type system struct {
	library      *library
	index        uint64
	seed         uint64
	id           uuid.UUID
	name         string
	organization events.Null[uuid.UUID]
	trade        *trade
	exchange     *exchange
	createdAt    events.Time

	extensions      []*extension
	phones          []*events.Phone
	numbers         []*events.PhoneNumber
	agents          []*events.AgentConfig
	groups          []*callGroup
	menus           []*events.CallMenu
	representatives []*representative
	classes         []*events.Classification
	tags            []events.Tag

	recorded  bool // calls are recorded, and most of them transcribed and analyzed
	calls     int
	calendar  calendar
	maxDelay  events.Time // from the end of a call until the last event about it
	assistant string      // the name that the Call Assistant uses
}

// term is the time during which calls may refer to an entity.
type term struct {
	from, until events.Time
}

func always() term { return term{0, 1 << 60} }

func (t term) covers(at events.Time) bool { return t.from <= at && at < t.until }

type extension struct {
	events.Extension
	term
	person person
	shared bool // a room
}

type callGroup struct {
	events.CallGroup
	term
	latest *events.CallGroup // after the planned changes; nil if there are none
}

type representative struct {
	events.Representative
	term
	extension *extension
}

type builder struct {
	company *Company
	library *library
	rng     random
}

// system builds the i-th system.
func (b *builder) system(i int) *system {
	rng := newRandom(b.company.seed, systemPath, uint64(i))
	s := &system{
		library: b.library, index: uint64(i), seed: b.company.seed, id: rng.uuid(),
		trade:     b.library.trades[i%len(b.library.trades)],
		exchange:  &b.library.exchanges[i%len(b.library.exchanges)],
		createdAt: b.company.from - events.Time(rng.between(60, 900))*day,
		recorded:  !rng.chance(120),
	}
	s.assistant = pick(&rng, []string{"Robin", "Ada", "Casey"})
	s.name = s.businessName(&rng)
	s.organization = b.organization(i, s)
	s.addPeople(&rng)
	s.addPhones(&rng)
	s.addNumbers(&rng)
	s.addAgents(&rng)
	s.addGroups(&rng)
	s.addMenus(&rng)
	s.addRepresentatives(&rng)
	s.addTags(&rng)
	s.addClassifications(&rng)
	return s
}

// organization returns the system's organization. Of four systems in a row, three belong to one and the last to none.
func (b *builder) organization(i int, s *system) events.Null[uuid.UUID] {
	if i%4 == 0 {
		names := s.trade.lists["organization"]
		b.company.organizations = append(b.company.organizations, Target{b.rng.uuid(), names[i/4%len(names)]})
	}
	if i%4 == 3 {
		return events.Null[uuid.UUID]{}
	}
	return events.Some(b.company.organizations[i/4].ID)
}

// maxMembers limits the size of a group's event, which lists all members.
const maxMembers = 500

// formGroups puts every second and every third system into a group.
func (b *builder) formGroups() {
	for i, name := range []string{"Pilot customers", "Extended support"} {
		g := events.Group{ID: b.rng.uuid(), Version: 1, Name: name}
		for j := 0; j < len(b.company.systems) && len(g.PhoneSystemIDs) < maxMembers; j += i + 2 {
			g.PhoneSystemIDs = append(g.PhoneSystemIDs, b.company.systems[j].id)
		}
		b.company.groups = append(b.company.groups, g)
	}
}

// businessName fills names into one of the trade's patterns, such as "{last} & {last2} Law".
func (s *system) businessName(rng *random) string {
	words := parsePattern(pick(rng, s.trade.lists["business"]))
	for i := 1; i < len(words); i += 2 {
		if words[i] == "place" {
			words[i] = pick(rng, s.library.places)
		} else {
			words[i] = pick(rng, s.library.last)
		}
	}
	return strings.Join(words, "")
}

// addPeople gives people the extensions from 101 on, and shared rooms those from 150 on.
func (s *system) addPeople(rng *random) {
	for i := range rng.between(6, 13) {
		p := s.library.person(rng)
		for slices.ContainsFunc(s.extensions, func(x *extension) bool { return x.person == p }) {
			p = s.library.person(rng)
		}
		s.addExtension(rng, strconv.Itoa(101+i), p.name()).person = p
	}
	for i, room := range s.trade.lists["shared"] {
		s.addExtension(rng, strconv.Itoa(150+i), room).shared = true
	}
}

func (s *system) addExtension(rng *random, number, name string) *extension {
	created := s.createdAt + events.Time(rng.between(0, 40))*day
	x := &extension{term: always(), Extension: events.Extension{
		ID: rng.uuid(), PhoneSystemID: s.id, Version: 1, Number: number, Name: name, Status: "active",
		CreatedAt: created, UpdatedAt: created + events.Time(rng.between(0, 20*24))*hour,
	}}
	x.UnansweredAction = refer(s.reference("extension-voicemail", x.ID))
	if rng.chance(150) {
		x.UnansweredAction = &events.Action{Type: "forward", Literal: events.Some(s.exchange.number(900 + rng.below(99)).e164)}
	}
	x.VoicemailGreeting = &events.Playback{Kind: "default"}
	if rng.chance(600) {
		x.VoicemailGreeting = s.playback("greetings/" + number)
	}
	s.extensions = append(s.extensions, x)
	return x
}

func (s *system) reference(kind string, id uuid.UUID) events.Reference {
	return events.Reference{Type: kind, ID: id, PhoneSystemID: s.id}
}

// refer is the action that leads to the target.
func refer(target events.Reference) *events.Action {
	return &events.Action{Type: target.Type, Reference: &target}
}

// playback is a recorded greeting or prompt.
func (s *system) playback(path string) *events.Playback {
	return &events.Playback{Kind: "recording", URL: events.Some(s.mediaURL(path))}
}

func (s *system) mediaURL(path string) string {
	return "https://media.example/" + s.id.String() + "/" + path + ".mp3"
}

// present is text, or null if it is empty.
func present(text string) events.Null[string] {
	return events.Null[string]{Value: text, Valid: text != ""}
}

// contact is an outside person of a call. A contact without a number withholds it.
type contact struct {
	person person
	number number
	known  bool // the phone system has a name for the number
}

// contacts is how many outside people a business knows. Each follows from a number, so none is stored.
const contacts = 160

// randomContact returns the outside person of a call: mostly a known one, and some of these often.
func (s *system) randomContact(rng *random) contact {
	switch {
	case rng.chance(780):
		return s.contact(min(rng.below(contacts), rng.below(contacts)))
	case rng.chance(150):
		return contact{person: s.library.person(rng)}
	}
	return contact{person: s.library.person(rng), number: s.randomNumber(rng)}
}

func (s *system) contact(n int) contact {
	rng := newRandom(s.seed, contactPath, s.index, uint64(n))
	return contact{person: s.library.person(&rng), number: s.randomNumber(&rng), known: n%7 != 0}
}

// randomNumber returns a number of the same country, mostly of the same exchange.
func (s *system) randomNumber(rng *random) number {
	e := s.exchange
	for rng.chance(300) || e.country != s.exchange.country {
		e = &s.library.exchanges[rng.below(len(s.library.exchanges))]
	}
	return e.number(rng.below(1000))
}

// setCaller makes the contact the call's origin.
func (c contact) setCaller(call *events.Call) {
	if c.number == (number{}) {
		call.From, call.FromDisplay = events.Some("anonymous"), events.Some("Anonymous")
		return
	}
	call.From, call.FromNumber, call.FromDisplay = events.Some(c.number.e164), events.Some(c.number.e164), events.Some(c.number.display)
	if c.known {
		call.FromName = events.Some(c.person.name())
	}
}

// randomExtension returns the extension of a person who is present.
func (s *system) randomExtension(rng *random, at events.Time) *extension {
	for range 8 {
		if x := pick(rng, s.extensions); !x.shared && x.covers(at) {
			return x
		}
	}
	return s.extensions[0]
}

// otherExtension returns one of the two extensions that always exist, but not x.
func (s *system) otherExtension(x *extension) *extension {
	if x == s.extensions[0] {
		return s.extensions[1]
	}
	return s.extensions[0]
}

// randomGroup returns a call group, mostly the first.
func (s *system) randomGroup(rng *random, at events.Time) *callGroup {
	if g := s.groups[min(rng.below(len(s.groups)+1), rng.below(len(s.groups)))]; g.covers(at) {
		return g
	}
	return s.groups[0]
}

// representativeOf returns the representative of an extension, or nil.
func (s *system) representativeOf(x *extension, at events.Time) *representative {
	for _, r := range s.representatives {
		if r.extension == x && r.covers(at) {
			return r
		}
	}
	return nil
}
