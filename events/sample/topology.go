package sample

import (
	"net"
	"strconv"
	"strings"

	"callboard/events"
)

// phoneModel is a kind of device with what can be attached to it.
type phoneModel struct {
	manufacturer, model, firmware string
	role, attachedRole            string
	attachedModel                 string
}

func phoneModels() []phoneModel {
	return []phoneModel{
		{"Yealink", "T54W", "96.86.0.100", "desk", "expansion-module", "EXP50"},
		{"Yealink", "W70B", "146.85.0.37", "dect-base", "dect-handset", "W73H"},
		{"Poly", "Edge E350", "8.2.1.0305", "desk", "", ""},
		{"Poly", "VVX 450", "6.4.6.2494", "desk", "expansion-module", "VVX EM50"},
		{"Snom", "D785", "10.1.184.15", "desk", "", ""},
		{"Snom", "M900", "05.90.0001", "dect-base", "dect-handset", "M70"},
		{"Grandstream", "GXP2170", "1.0.11.79", "desk", "", ""},
		{"Cisco", "CP-8851", "14.2.1", "desk", "", ""},
	}
}

// addPhones gives most extensions a phone: some with an expansion module, some a base with handsets.
func (s *system) addPhones(rng *random) {
	models := phoneModels()
	for _, x := range s.extensions {
		if rng.chance(90) {
			continue // works with an app
		}
		m := pick(rng, models)
		phone := s.addPhone(rng, x, m.manufacturer, m.model, m.role)
		phone.Firmware = events.Some(m.firmware)
		attached := 0
		switch m.attachedRole {
		case "dect-handset":
			attached = rng.between(1, 3)
		case "expansion-module":
			attached = rng.below(2)
		}
		for slot := range attached {
			p := s.addPhone(rng, x, m.manufacturer, m.attachedModel, m.attachedRole)
			p.ParentPhoneID, p.Slot = events.Some(phone.ID), events.Some(int64(slot+1))
			p.Name += " " + strconv.Itoa(slot+1)
			if m.attachedRole == "expansion-module" {
				p.MACAddress = events.Null[string]{}
			}
		}
	}
}

func (s *system) addPhone(rng *random, x *extension, manufacturer, model, role string) *events.Phone {
	mac := net.HardwareAddr{2, 0, 0x55, 0, 0, 0} // a first byte of 2 marks a locally administered address
	rng.fill(mac[3:])
	p := &events.Phone{
		ID: rng.uuid(), PhoneSystemID: s.id, Version: 1, Name: x.Name + " " + model, Status: "active",
		CreatedAt: x.CreatedAt, UpdatedAt: x.UpdatedAt, ExtensionID: events.Some(x.ID), DeviceRole: events.Some(role),
		MACAddress: events.Some(mac.String()),
		Hardware: events.Hardware{
			Manufacturer: events.Some(manufacturer), Model: events.Some(model),
			SerialNumber: events.Some(strings.ToUpper(rng.sid("SN")[:14])),
		},
	}
	if rng.chance(60) {
		p.Status = "unregistered"
	}
	s.phones = append(s.phones, p)
	x.AssignedPhoneIDs = append(x.AssignedPhoneIDs, p.ID)
	return p
}

func (s *system) addNumbers(rng *random) {
	labels := []string{"Main line", "Direct line", "Advertising", "Fax", "Old number"}
	first := rng.below(s.exchange.size)
	for i := range rng.between(2, len(labels)) {
		created := s.createdAt + events.Time(i)*day
		p := &events.PhoneNumber{
			ID: rng.uuid(), PhoneSystemID: s.id, Version: 1, PhoneNumber: s.exchange.number(first + i*7).e164,
			Label: events.Some(labels[i]), Status: "active", CreatedAt: created, UpdatedAt: created + hour,
			Origin: "managed", Country: events.Some(s.exchange.country), IsPrimary: i == 0,
		}
		if rng.chance(250) {
			p.Origin = "carrier_hosted"
		}
		if labels[i] == "Old number" {
			p.Status = "released"
		}
		s.numbers = append(s.numbers, p)
	}
}

// addAgents configures the Call Assistant.
func (s *system) addAgents(rng *random) {
	names := []string{"Front desk assistant", "After-hours assistant", "Booking assistant", "Trial assistant", "Holiday assistant"}
	statuses := []string{"active", "active", "paused", "testing", "archived"}
	for i := range rng.between(1, len(names)) {
		created := s.createdAt + events.Time(rng.between(10, 50))*day
		a := &events.AgentConfig{
			ID: rng.uuid(), PhoneSystemID: s.id, Version: 1, Name: names[i], AgentNumber: events.Some(int64(i + 1)),
			Status: statuses[i], CreatedAt: created, UpdatedAt: created + events.Time(rng.between(1, 200))*hour,
		}
		if a.Status == "archived" {
			a.AgentNumber = events.Null[int64]{}
		}
		s.agents = append(s.agents, a)
	}
}

// addGroups adds a call group per department. The first eight extensions and every second one are in the first group.
func (s *system) addGroups(rng *random) {
	patterns := []string{"simultaneous", "sequential", "round-robin", "longest-idle"}
	for i, department := range s.trade.lists["department"] {
		created := s.createdAt + events.Time(rng.between(1, 30))*day
		g := &callGroup{term: always(), CallGroup: events.CallGroup{
			ID: rng.uuid(), PhoneSystemID: s.id, Version: 1, Name: department, Number: strconv.Itoa(600 + i), Status: "active",
			CreatedAt: created, UpdatedAt: created + events.Time(rng.between(1, 200))*hour, RingPattern: pick(rng, patterns),
		}}
		for j, x := range s.extensions {
			if !x.shared && (i == 0 && j < 8 || j%(i+2) == 0) {
				g.Members = append(g.Members, s.reference("extension", x.ID))
			}
		}
		if rng.chance(300) {
			g.Members = append(g.Members, s.reference("agent-config", s.agents[0].ID))
		}
		g.UnansweredAction = refer(s.reference("call-group-voicemail", g.ID))
		g.VoicemailGreeting = s.playback("greetings/" + g.Number)
		s.groups = append(s.groups, g)
	}
	s.groups[len(s.groups)-1].UnansweredAction = refer(s.reference("call-group", s.groups[0].ID))
}

// addMenus adds the welcome menu and the menu for closed hours.
func (s *system) addMenus(rng *random) {
	first := s.reference("call-group", s.groups[0].ID)
	welcome := s.addMenu(rng, "Welcome")
	for i, g := range s.groups {
		welcome.Choices = append(welcome.Choices, choice(strconv.Itoa(i+1), g.Name, refer(s.reference("call-group", g.ID))))
	}
	welcome.Choices = append(welcome.Choices,
		choice("0", "Operator", refer(s.reference("extension", s.extensions[0].ID))),
		choice("9", "Company directory", literal("directory", "")),
		choice("*", "Hours and directions", literal("play-audio", s.mediaURL("prompts/hours"))))
	welcome.DirectExtensionDialing = true
	welcome.NoInputAction = refer(first)

	closed := s.addMenu(rng, "After hours")
	voicemail := s.reference("call-group-voicemail", s.groups[0].ID)
	closed.Choices = []events.Choice{
		choice("1", "Emergency", literal("forward", s.exchange.number(950).e164)),
		choice("2", "Leave a message", refer(voicemail)),
		choice("3", "Assistant", refer(s.reference("agent-config", s.agents[0].ID))),
		choice("#", "", literal("hangup", "")),
	}
	closed.NoInputAction = refer(voicemail)
}

func (s *system) addMenu(rng *random, name string) *events.CallMenu {
	created := s.createdAt + events.Time(rng.between(1, 30))*day
	m := &events.CallMenu{
		ID: rng.uuid(), PhoneSystemID: s.id, Version: 1, Name: name, Status: "active", CreatedAt: created,
		UpdatedAt: created + events.Time(rng.between(1, 400))*hour,
		Prompt:    s.playback("prompts/menu-" + strconv.Itoa(len(s.menus)+1)),
	}
	s.menus = append(s.menus, m)
	return m
}

func choice(digit, label string, action *events.Action) events.Choice {
	return events.Choice{Digit: digit, Label: present(label), Action: *action}
}

func literal(action, value string) *events.Action {
	return &events.Action{Type: action, Literal: present(value)}
}

// addRepresentatives adds most people who have an extension. Calls are attributed to them.
func (s *system) addRepresentatives(rng *random) {
	for _, x := range s.extensions {
		if x.shared || rng.chance(200) {
			continue
		}
		s.representatives = append(s.representatives, &representative{term: always(), extension: x, Representative: events.Representative{
			ID: rng.uuid(), PhoneSystemID: s.id, Version: 1, Name: x.Name, Status: "active", UpdatedAt: x.UpdatedAt,
		}})
	}
}

func (s *system) addTags(rng *random) {
	for _, t := range [][3]string{
		{"New customer", "Customer", "#2f80ed"}, {"Returning customer", "Customer", "#27ae60"}, {"VIP", "Customer", "#9b51e0"},
		{"Urgent", "Priority", "#eb5757"}, {"Can wait", "Priority", "#828282"}, {"Price question", "Topic", "#f2994a"},
		{"Cancellation risk", "Topic", "#d4a017"}, {"Call back", "Follow-up", "#56ccf2"}, {"Zufällige Prüfung", "Quality", "#bb6bd9"},
	} {
		s.tags = append(s.tags, events.Tag{ID: rng.uuid(), Name: t[0], Group: t[1], Color: t[2]})
	}
}
