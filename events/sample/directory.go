package sample

import (
	"iter"
	"strconv"

	"github.com/google/uuid"

	"callboard/events"
)

// Directory yields everything that exists before the first call, what is referred to before what refers to it.
func (c *Company) Directory() iter.Seq[events.Event] {
	return func(yield func(events.Event) bool) {
		at := c.from - day
		for state := range c.inventory() {
			if !yield(publish(events.Changed(state), at)) {
				return
			}
		}
	}
}

// inventory is every entity of the directory in its first state.
func (c *Company) inventory() iter.Seq[events.State] {
	return func(yield func(events.State) bool) {
		for _, class := range c.systems[0].library.definitions(c.from - 400*day) {
			if !yield(class) {
				return
			}
		}
		for _, s := range c.systems {
			for _, state := range s.inventory() {
				if !yield(state) {
					return
				}
			}
		}
		for i := range c.groups {
			if group := c.groups[i]; !yield(&group) {
				return
			}
		}
	}
}

// inventory is the system's part. The states are copies: whoever gets one may keep it.
func (s *system) inventory() []events.State {
	system := s.state()
	all := []events.State{&system}
	for _, x := range s.extensions {
		if x.from == 0 {
			all = appendCopy(all, x.Extension)
		}
	}
	for _, p := range s.phones {
		all = appendCopy(all, *p)
	}
	for _, n := range s.numbers {
		all = appendCopy(all, *n)
	}
	for _, a := range s.agents {
		all = appendCopy(all, *a)
	}
	for _, g := range s.groups {
		all = appendCopy(all, g.CallGroup)
	}
	for _, m := range s.menus {
		all = appendCopy(all, *m)
	}
	for _, r := range s.people {
		all = appendCopy(all, r.Representative)
	}
	for _, class := range s.classes {
		all = appendCopy(all, *class)
	}
	return all
}

func (s *system) state() events.PhoneSystem {
	return events.PhoneSystem{ID: s.id, Version: 1, Name: s.name, OrganizationID: s.organization}
}

// appendCopy appends a copy of an entity's state.
func appendCopy[T any, P interface {
	*T
	events.State
}](all []events.State, state T) []events.State {
	return append(all, P(&state))
}

// publish puts an event into its envelope. The identifier says what the event is, so an event that is published again is recognized.
func publish(e events.Event, at events.Time) events.Event {
	system := events.Global
	if e.System != uuid.Nil {
		system = e.System.String()
	}
	e.ID = system + "/" + string(e.Entity) + "/" + e.Key + "/" + strconv.FormatInt(e.Version, 10)
	e.Source = source(e.Entity)
	e.Time = at.Std()
	return e
}

// source is the service that publishes an entity.
func source(entity events.Entity) string {
	switch entity {
	case events.EntityCall, events.EntityVoicemail:
		return "https://phones.example/telephony"
	case events.EntityRecording:
		return "https://phones.example/media"
	case events.EntityTranscript:
		return "https://phones.example/transcription"
	case events.EntityAnalysis:
		return "https://phones.example/insights"
	default:
		return "https://phones.example/directory"
	}
}
