package sample

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

// system is one business with its phones.
type system struct {
	*texts
	seed     uint64
	id       uuid.UUID
	index    int
	state    *events.PhoneSystem
	exchange string // the first digits of its numbers
	founded  events.Time

	people    []*person
	phones    []*events.Phone
	numbers   []*events.PhoneNumber
	groups    []*events.CallGroup
	classes   []*events.Classification
	tags      []events.Tag
	directory []events.State // all of these, but for tags, as they are before the first call

	reorganized events.Time // when reorganize begins: no later call refers to what it deletes
}

// person is somebody who has an extension.
type person struct {
	first          string
	extension      *events.Extension
	representative *events.Representative // nil if calls are not attributed to the person
}

// newSystem builds the index-th phone system of a company.
func newSystem(c *Company, index int, texts *texts) *system {
	rng := newRandom(c.seed, "system", index)
	s := &system{
		texts: texts, seed: c.seed, id: rng.uuid(), index: index, exchange: pick(rng, texts.lists["exchange"]),
		founded:     c.from - events.Time(rng.between(100, 900))*day,
		reorganized: c.from + (c.until-c.from)/100*events.Time(rng.between(30, 70)),
	}

	name := conversation{random: rng, texts: texts, values: map[string]string{}}
	s.state = &events.PhoneSystem{ID: s.id, Version: 1, Name: name.fill(pick(rng, texts.lists["business"]))}
	s.directory = []events.State{s.state}

	// Phones and groups refer to people, and menus refer to groups.
	s.addPeople(rng)
	s.addPhones(rng)
	s.addNumbers(rng)
	s.addAgents(rng)
	s.addGroups(rng)
	s.addMenus(rng)
	s.addClassifications(rng)
	return s
}

// sometime returns a time after the foundation.
func (s *system) sometime(rng random) events.Time {
	return s.founded + events.Time(rng.between(0, 90*24))*hour
}

// addPeople gives people the extensions from 101 on. Calls are attributed to most of them.
func (s *system) addPeople(rng random) {
	for i := range rng.between(6, 13) {
		first, number, at := pick(rng, s.lists["first"]), strconv.Itoa(101+i), s.sometime(rng)
		p := &person{first: first, extension: &events.Extension{
			ID: rng.uuid(), PhoneSystemID: s.id, Version: 1, Number: number,
			Name:   first + " " + pick(rng, s.lists["last"]),
			Status: "active", CreatedAt: at, UpdatedAt: at + day, VoicemailGreeting: s.playback("greetings/" + number),
		}}

		p.extension.UnansweredAction = s.refer("extension-voicemail", p.extension.ID)
		s.directory = append(s.directory, p.extension)

		// Only calls of a person with a representative are attributed.
		if rng.chance(80) {
			p.representative = &events.Representative{
				ID: rng.uuid(), PhoneSystemID: s.id, Version: 1, Name: p.extension.Name, Status: "active",
				UpdatedAt: at,
			}
			s.directory = append(s.directory, p.representative)
		}
		s.people = append(s.people, p)
	}
}

// addPhones gives everybody a phone. Some phones have an expansion module.
func (s *system) addPhones(rng random) {
	for _, p := range s.people {
		x := p.extension
		model := pick(rng, [][]string{
			{"Yealink", "T54W", "96.86.0.100"}, {"Poly", "VVX 450", "6.4.6.2494"}, {"Snom", "D785", "10.1.184.15"},
		})

		phone := &events.Phone{
			Name: x.Name + " " + model[1], DeviceRole: events.Some("desk"), Firmware: events.Some(model[2]),
			Hardware: events.Hardware{Manufacturer: events.Some(model[0]), Model: events.Some(model[1])},
		}

		// A first byte of 2 marks a locally administered address.
		mac := fmt.Sprintf("02:00:55:%02x:%02x:%02x", rng.IntN(256), rng.IntN(256), len(s.phones))
		phone.MACAddress = events.Some(mac)
		s.addPhone(rng, x, phone)

		if rng.chance(15) {
			s.addPhone(rng, x, &events.Phone{
				Name: x.Name + " module", DeviceRole: events.Some("expansion-module"), Slot: events.Some[int64](1),
				ParentPhoneID: events.Some(phone.ID), Hardware: events.Hardware{Manufacturer: events.Some(model[0])},
			})
		}
	}
}

func (s *system) addPhone(rng random, x *events.Extension, p *events.Phone) {
	p.ID, p.PhoneSystemID, p.Version, p.ExtensionID = rng.uuid(), s.id, 1, events.Some(x.ID)
	p.Status = pick(rng, []string{"active", "active", "active", "unregistered"})
	p.CreatedAt, p.UpdatedAt = x.CreatedAt, x.UpdatedAt
	p.Hardware.SerialNumber = events.Some(strings.ToUpper(rng.sid("SN")[:14]))
	x.AssignedPhoneIDs = append(x.AssignedPhoneIDs, p.ID)
	s.phones = append(s.phones, p)
	s.directory = append(s.directory, p)
}

func (s *system) addNumbers(rng random) {
	first := rng.IntN(900)

	for i, label := range []string{"Main line", "Direct line", "Advertising", "Fax"} {
		at := s.sometime(rng)
		n := &events.PhoneNumber{
			ID: rng.uuid(), PhoneSystemID: s.id, Version: 1, PhoneNumber: e164(number(s.exchange, first+7*i)),
			Label:  events.Some(label),
			Status: "active", CreatedAt: at, UpdatedAt: at + hour,
			Origin:  pick(rng, []string{"managed", "carrier_hosted"}),
			Country: events.Some("GB"), IsPrimary: i == 0,
		}

		s.numbers = append(s.numbers, n)
		s.directory = append(s.directory, n)
	}
}

// addAgents configures the Call Assistant.
func (s *system) addAgents(rng random) {
	names := []string{"Front desk assistant", "After-hours assistant", "Booking assistant", "Holiday assistant"}
	for i, status := range []string{"active", "paused", "testing", "archived"} {
		at := s.sometime(rng)
		a := &events.AgentConfig{
			ID: rng.uuid(), PhoneSystemID: s.id, Version: 1, Name: names[i], AgentNumber: events.Some(int64(i + 1)),
			Status: status, CreatedAt: at, UpdatedAt: at + day,
		}
		s.directory = append(s.directory, a)
	}
}

// addGroups adds a call group per department. Everybody is in the first one.
func (s *system) addGroups(rng random) {
	patterns := []string{"simultaneous", "sequential", "round-robin", "longest-idle"}

	for i, department := range s.lists["department"] {
		at := s.sometime(rng)
		g := &events.CallGroup{
			ID: rng.uuid(), PhoneSystemID: s.id, Version: 1, Name: department, Number: strconv.Itoa(600 + i),
			Status:    "active",
			CreatedAt: at, UpdatedAt: at + day, RingPattern: pick(rng, patterns),
			VoicemailGreeting: s.playback("greetings/" + strconv.Itoa(600+i)),
		}

		// The second group has every second person, the third group every third person.
		for j := 0; j < len(s.people); j += i + 1 {
			g.Members = append(g.Members, *s.refer("extension", s.people[j].extension.ID).Reference)
		}

		g.UnansweredAction = s.refer("call-group-voicemail", g.ID)
		s.groups = append(s.groups, g)
		s.directory = append(s.directory, g)
	}
}

// addMenus adds the welcome menu and the menu for closed hours.
func (s *system) addMenus(rng random) {
	voicemail := s.refer("call-group-voicemail", s.groups[0].ID)

	welcome := []events.Choice{
		{Digit: "0", Label: events.Some("Operator"), Action: *s.refer("extension", s.people[0].extension.ID)},
		{Digit: "9", Label: events.Some("Company directory"), Action: *literal("directory", "")},
		{Digit: "*", Label: events.Some("Opening hours"), Action: *literal("play-audio", s.mediaURL("prompts/hours"))},
	}

	// Each department has the digit of its place.
	for i, g := range s.groups {
		welcome = append(welcome, events.Choice{
			Digit: strconv.Itoa(i + 1), Label: events.Some(g.Name), Action: *s.refer("call-group", g.ID),
		})
	}

	closed := []events.Choice{
		{Digit: "1", Label: events.Some("Emergency"), Action: *literal("forward", e164(number(s.exchange, 950)))},
		{Digit: "2", Label: events.Some("Leave a message"), Action: *voicemail},
		{Digit: "#", Action: *literal("hangup", "")},
	}

	for i, name := range []string{"Welcome", "After hours"} {
		at := s.sometime(rng)
		m := &events.CallMenu{
			ID: rng.uuid(), PhoneSystemID: s.id, Version: 1, Name: name, Status: "active", CreatedAt: at,
			UpdatedAt: at + day,
			Prompt:    s.playback("prompts/" + strconv.Itoa(i+1)), Choices: [][]events.Choice{welcome, closed}[i],
			DirectExtensionDialing: i == 0, NoInputAction: voicemail,
		}

		s.directory = append(s.directory, m)
	}
}

// addClassifications adds labels that override the global ones, and the tags of the business.
func (s *system) addClassifications(rng random) {
	negative := classification(overall, "negative", "Needs attention", s.founded+day)
	negative.Score = events.Some(-1.0)
	s.classes = []*events.Classification{
		classification(events.KindCategory, "information", "Just a question", s.founded+day),
		classification(events.KindCategory, "complaint", "Escalation", s.founded+day), negative,
	}

	for _, class := range s.classes {
		class.PhoneSystemID = events.Some(s.id)
		s.directory = append(s.directory, class)
	}

	for _, t := range [][]string{
		{"New customer", "Customer", "#2f80ed"}, {"VIP", "Customer", "#9b51e0"}, {"Urgent", "Priority", "#eb5757"},
		{"Price question", "Topic", "#f2994a"}, {"Cancellation risk", "Topic", "#d4a017"},
		{"Zufällige Prüfung", "Quality", "#bb6bd9"},
	} {
		s.tags = append(s.tags, events.Tag{ID: rng.uuid(), Name: t[0], Group: t[1], Color: t[2]})
	}
}

// reorganize changes the directory in the middle of History, a minute apart: people and departments leave, names and
// labels change.
func (s *system) reorganize(q *queue) {
	// Changes follow each other by a minute.
	at := s.reorganized
	add := func(e events.Event) {
		q.add(at, e)
		at += minute
	}

	remove := func(last events.Identity, versions int64) {
		last.Version += versions
		add(events.Deleted(last))
	}

	// A person takes another last name.
	renamed := s.people[2]
	extension := *renamed.extension
	extension.Version, extension.UpdatedAt = 2, at
	extension.Name = renamed.first + " " + s.lists["last"][s.index%len(s.lists["last"])]
	add(events.Changed(&extension))

	// The representative of the person is renamed, too.
	if renamed.representative != nil {
		representative := *renamed.representative
		representative.Version, representative.UpdatedAt, representative.Name = 2, at, extension.Name
		add(events.Changed(&representative))
	}

	// One person leaves. The phones stay.
	leaver := s.people[3]
	isLeaver := func(r events.Reference) bool { return r.ID == leaver.extension.ID }

	for _, p := range s.phones {
		if p.ExtensionID.Value == leaver.extension.ID {
			phone := *p
			phone.Version, phone.UpdatedAt = 2, at
			phone.Status, phone.ExtensionID = "inactive", events.Null[uuid.UUID]{}
			add(events.Changed(&phone))
		}
	}

	for _, g := range s.groups {
		group := *g
		group.Version, group.UpdatedAt, group.Members = 2, at, slices.DeleteFunc(slices.Clone(g.Members), isLeaver)
		add(events.Changed(&group))
	}

	remove(leaver.extension.Identity(), 1)
	if leaver.representative != nil {
		remove(leaver.representative.Identity(), 1)
	}

	// Another person's extension becomes inactive.
	inactive := *s.people[4].extension
	inactive.Version, inactive.UpdatedAt, inactive.Status = 2, at, "inactive"
	add(events.Changed(&inactive))

	// A department closes.
	remove(s.groups[len(s.groups)-1].Identity(), 2)

	// One label of the business changes, and the second label is removed.
	label := *s.classes[0]
	label.Version, label.UpdatedAt, label.Label = 2, at, "Question"
	add(events.Changed(&label))
	remove(s.classes[1].Identity(), 1)

	// Every third business has another name.
	if s.index%3 == 1 {
		state := *s.state
		state.Version, state.Name = 2, s.state.Name+" Group"
		add(events.Changed(&state))
	}
}

// refer is the action that leads to an entity.
func (s *system) refer(kind string, id uuid.UUID) *events.Action {
	return &events.Action{Type: kind, Reference: &events.Reference{Type: kind, ID: id, PhoneSystemID: s.id}}
}

func literal(action, value string) *events.Action {
	return &events.Action{Type: action, Literal: present(value)}
}

// present is text, or null if it is empty.
func present(text string) events.Null[string] {
	return events.Null[string]{Value: text, Valid: text != ""}
}

func (s *system) playback(path string) *events.Playback {
	return &events.Playback{Kind: "recording", URL: events.Some(s.mediaURL(path))}
}

func (s *system) mediaURL(path string) string {
	return "https://media.example/" + s.id.String() + "/" + path + ".mp3"
}

// number is the n-th number of an exchange, as people write it.
func number(exchange string, n int) string { return fmt.Sprintf("%s%03d", exchange, n%1000) }

func (s *system) anyNumber(rng random) string {
	if rng.chance(60) {
		return number(s.exchange, rng.IntN(1000))
	}
	return number(pick(rng, s.lists["exchange"]), rng.IntN(1000))
}

// e164 is a number as machines write it.
func e164(number string) string { return "+44" + strings.ReplaceAll(number[1:], " ", "") }
