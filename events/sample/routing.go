package sample

import (
	"strconv"

	"callboard/events"
)

// configureAgents sets the Call Assistant up: one that answers, and some that are tried out or put aside.
func (s *system) configureAgents(d *dice) {
	names := []string{"Front desk assistant", "After-hours assistant", "Booking assistant", "Trial assistant", "Holiday assistant"}
	statuses := []string{"active", "active", "paused", "testing", "archived"}
	for i := range d.between(1, len(names)) {
		created := s.born + events.Time(d.between(10, 50))*day
		a := &events.AgentConfig{
			ID: d.uuid(), PhoneSystemID: s.id, Version: 1, Name: names[i], AgentNumber: events.Some(int64(i + 1)),
			Status: statuses[i], CreatedAt: created, UpdatedAt: created + events.Time(d.between(1, 200))*hour,
		}
		if a.Status == "archived" {
			a.AgentNumber = events.Null[int64]{}
		}
		s.agents = append(s.agents, a)
	}
}

// formGroups makes a call group of each department. Everybody is in the first one.
func (s *system) formGroups(d *dice) {
	patterns := []string{"simultaneous", "sequential", "round-robin", "longest-idle"}
	for i, department := range s.trade.lists["department"] {
		created := s.born + events.Time(d.between(1, 30))*day
		g := &callGroup{term: term{0, forever}, CallGroup: events.CallGroup{
			ID: d.uuid(), PhoneSystemID: s.id, Version: 1, Name: department, Number: strconv.Itoa(600 + i), Status: "active",
			CreatedAt: created, UpdatedAt: created + events.Time(d.between(1, 200))*hour, RingPattern: pick(d, patterns),
		}}
		for j, x := range s.extensions {
			if !x.shared && (i == 0 && j < 8 || j%(i+2) == 0) {
				g.Members = append(g.Members, s.refer("extension", x.ID))
			}
		}
		if d.chance(300) {
			g.Members = append(g.Members, s.refer("agent-config", s.agents[0].ID))
		}
		own := s.refer("call-group-voicemail", g.ID)
		g.UnansweredAction = &events.Action{Type: own.Type, Reference: &own}
		g.VoicemailGreeting = &events.Playback{Kind: "recording", URL: mediaURL(s.id.String(), "greetings/"+g.Number)}
		s.groups = append(s.groups, g)
	}
	// The last department hands over to the first one instead.
	last, first := s.groups[len(s.groups)-1], s.refer("call-group", s.groups[0].ID)
	last.UnansweredAction = &events.Action{Type: first.Type, Reference: &first}
}

// recordMenus makes the welcome menu and the one that plays after hours.
func (s *system) recordMenus(d *dice) {
	welcome := s.addMenu(d, "Welcome")
	for i, g := range s.groups {
		welcome.Choices = append(welcome.Choices, s.choose(strconv.Itoa(i+1), g.Name, s.refer("call-group", g.ID)))
	}
	operator := s.refer("extension", s.extensions[0].ID)
	first := s.refer("call-group", s.groups[0].ID)
	welcome.Choices = append(welcome.Choices, s.choose("0", "Operator", operator),
		literally("9", "Company directory", "directory", ""),
		literally("*", "Hours and directions", "play-audio", mediaURL(s.id.String(), "prompts/hours").Value))
	welcome.DirectExtensionDialing = true
	welcome.NoInputAction = &events.Action{Type: first.Type, Reference: &first}

	closed := s.addMenu(d, "After hours")
	voicemail := s.refer("call-group-voicemail", s.groups[0].ID)
	assistant := s.refer("agent-config", s.agents[0].ID)
	closed.Choices = []events.Choice{
		literally("1", "Emergency", "forward", s.exchange.number(950).e164),
		s.choose("2", "Leave a message", voicemail),
		s.choose("3", "Assistant", assistant),
		literally("#", "", "hangup", ""),
	}
	closed.NoInputAction = &events.Action{Type: voicemail.Type, Reference: &voicemail}
}

func (s *system) addMenu(d *dice, name string) *events.CallMenu {
	created := s.born + events.Time(d.between(1, 30))*day
	m := &events.CallMenu{
		ID: d.uuid(), PhoneSystemID: s.id, Version: 1, Name: name, Status: "active", CreatedAt: created,
		UpdatedAt: created + events.Time(d.between(1, 400))*hour,
		Prompt:    &events.Playback{Kind: "recording", URL: mediaURL(s.id.String(), "prompts/menu-"+strconv.Itoa(len(s.menus)+1))},
	}
	s.menus = append(s.menus, m)
	return m
}

func (s *system) choose(digit, label string, target events.Reference) events.Choice {
	return events.Choice{Digit: digit, Label: events.Some(label), Action: events.Action{Type: target.Type, Reference: &target}}
}

func literally(digit, label, action, literal string) events.Choice {
	return events.Choice{Digit: digit, Label: present(label), Action: events.Action{Type: action, Literal: present(literal)}}
}

// present is text, or null where it is empty.
func present(text string) events.Null[string] {
	return events.Null[string]{Value: text, Valid: text != ""}
}

// nameRepresentatives lists the people whom calls are attributed to: most of those who have an extension.
func (s *system) nameRepresentatives(d *dice) {
	for _, x := range s.extensions {
		if x.shared || d.chance(200) {
			continue
		}
		s.people = append(s.people, &representative{term: term{0, forever}, extension: x, Representative: events.Representative{
			ID: d.uuid(), PhoneSystemID: s.id, Version: 1, Name: x.Name, Status: "active", UpdatedAt: x.UpdatedAt,
		}})
	}
}

// defineTags makes the tags that the business's calls carry.
func (s *system) defineTags(d *dice) {
	for _, t := range [][3]string{
		{"New customer", "Customer", "#2f80ed"}, {"Returning customer", "Customer", "#27ae60"}, {"VIP", "Customer", "#9b51e0"},
		{"Urgent", "Priority", "#eb5757"}, {"Can wait", "Priority", "#828282"}, {"Price question", "Topic", "#f2994a"},
		{"Cancellation risk", "Topic", "#d4a017"}, {"Call back", "Follow-up", "#56ccf2"}, {"Zufällige Prüfung", "Quality", "#bb6bd9"},
	} {
		s.tags = append(s.tags, events.Tag{ID: d.uuid(), Name: t[0], Group: t[1], Color: t[2]})
	}
}
