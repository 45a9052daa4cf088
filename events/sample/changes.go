package sample

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

// change is a change of the directory during History.
type change struct {
	at    events.Time
	event events.Event
}

// changePlanner plans the changes of one system's directory. The first two extensions never change and the first call group
// is never deleted, so that calls are answered.
type changePlanner struct {
	*system
	company *Company
	rng     random
}

// planChanges plans the changes of all systems and limits the terms of what changes.
func (b *builder) planChanges() {
	for _, s := range b.company.systems {
		p := changePlanner{s, b.company, newRandom(s.seed, changePath, s.index)}
		p.renamePerson()
		p.removeExtension()
		p.replacePerson()
		p.changeDepartment()
		p.changeRepresentatives()
		p.changeDevices()
		p.changeClassifications()
	}
	b.extendGroup()
	slices.SortStableFunc(b.company.changes, func(x, y change) int { return cmp.Compare(x.at, y.at) })
}

// timeBetween returns a time in History, between two hundredths of its length.
func (p *changePlanner) timeBetween(low, high int) events.Time {
	length := p.company.until - p.company.from
	return p.company.from + length*events.Time(p.rng.between(low*100, high*100))/10000
}

func (p *changePlanner) change(at events.Time, state events.State) {
	p.company.changes = append(p.company.changes, change{at, envelope(events.Changed(state), at)})
}

func (p *changePlanner) delete(at events.Time, last events.Identity) {
	last.Version++
	p.company.changes = append(p.company.changes, change{at, envelope(events.Deleted(last), at)})
}

// renamePerson changes a person's last name, and the representative's too.
func (p *changePlanner) renamePerson() {
	x, at := p.extensions[2], p.timeBetween(20, 45)
	next := x.Extension
	next.Version, next.UpdatedAt = 2, at
	next.Name = person{x.person.first, pick(&p.rng, p.library.last)}.name()
	p.change(at, &next)
	for _, r := range p.representatives {
		if r.extension == x {
			renamed := r.Representative
			renamed.Version, renamed.UpdatedAt, renamed.Name = 2, at, next.Name
			p.change(at+minute, &renamed)
		}
	}
}

// removeExtension unassigns an extension's phones, removes it from call groups and deletes it.
func (p *changePlanner) removeExtension() {
	x, at := p.extensions[3], p.timeBetween(50, 70)
	x.until = at - hour
	for _, phone := range p.phones {
		if phone.ExtensionID.Value == x.ID {
			next := *phone
			next.Version, next.UpdatedAt, next.Status = 2, at, "inactive"
			next.ExtensionID = events.Null[uuid.UUID]{}
			p.change(at, &next)
		}
	}
	removed := func(r events.Reference) bool { return r.ID == x.ID }
	for _, g := range p.groups {
		if slices.ContainsFunc(g.Members, removed) {
			next := g.CallGroup
			next.Version, next.UpdatedAt = 2, at+minute
			next.Members = slices.DeleteFunc(slices.Clone(g.Members), removed)
			p.change(at+minute, &next)
			g.latest = &next
		}
	}
	p.delete(at+2*minute, x.Identity())
}

// replacePerson deactivates an extension and adds one for a new colleague.
func (p *changePlanner) replacePerson() {
	x, at := p.extensions[4], p.timeBetween(35, 60)
	x.until = at - hour
	inactive := x.Extension
	inactive.Version, inactive.Status, inactive.UpdatedAt = 2, "inactive", at
	p.change(at, &inactive)

	colleague := p.library.person(&p.rng)
	added := p.addExtension(&p.rng, "130", colleague.name())
	added.CreatedAt, added.UpdatedAt = at+hour, at+hour
	added.person, added.from = colleague, at+2*hour
	p.change(at+hour, &added.Extension)
}

// changeDepartment renames or deletes a call group, and renames some businesses.
func (p *changePlanner) changeDepartment() {
	g, at := p.groups[len(p.groups)-1], p.timeBetween(72, 85)
	state := g.CallGroup
	if g.latest != nil {
		state = *g.latest
	}
	if p.index%2 == 1 {
		g.until = at - hour
		p.delete(at, state.Identity())
	} else {
		state.Version++
		state.Name, state.UpdatedAt = state.Name+" & more", at
		p.change(at, &state)
	}
	if p.index%3 == 1 {
		next := p.state()
		next.Version, next.Name = 2, strings.TrimPrefix(p.name, "The ")+" "+p.exchange.place
		p.change(p.timeBetween(40, 60), &next)
	}
}

// changeRepresentatives deactivates one representative and deletes another. The renamed person's one is left out.
func (p *changePlanner) changeRepresentatives() {
	if len(p.representatives) < 4 {
		return
	}
	last := len(p.representatives) - 1
	inactive, deleted, at := p.representatives[last], p.representatives[last-1], p.timeBetween(55, 80)
	inactive.until, deleted.until = at-hour, at-hour
	if inactive.extension != p.extensions[2] {
		next := inactive.Representative
		next.Version, next.Status, next.UpdatedAt = 2, "inactive", at
		p.change(at, &next)
	}
	if deleted.extension != p.extensions[2] {
		p.delete(at+hour, deleted.Identity())
	}
}

// changeDevices updates a phone's firmware, releases a number and deactivates an assistant.
func (p *changePlanner) changeDevices() {
	for _, phone := range p.phones {
		if phone.ExtensionID.Value == p.extensions[0].ID {
			next, at := *phone, p.timeBetween(10, 90)
			next.Version, next.UpdatedAt, next.Firmware = 2, at, events.Some("99.1.0")
			p.change(at, &next)
		}
	}
	number, at := *p.numbers[len(p.numbers)-1], p.timeBetween(15, 95)
	if !number.IsPrimary && number.Status == "active" {
		number.Version, number.Status, number.UpdatedAt = 2, "released", at
		p.change(at, &number)
	}
	agent, at := *p.agents[len(p.agents)-1], p.timeBetween(25, 50)
	agent.Version, agent.UpdatedAt, agent.Status = 2, at, "inactive"
	if len(p.agents) > 1 {
		p.change(at, &agent)
	}
}

// changeClassifications changes the label of one of the business's own classifications and deletes another.
func (p *changePlanner) changeClassifications() {
	if len(p.classes) == 0 {
		return
	}
	next, at := *p.classes[0], p.timeBetween(30, 70)
	next.Version, next.Label, next.UpdatedAt = 2, "Question", at
	p.change(at, &next)
	p.delete(p.timeBetween(60, 90), p.classes[1].Identity())
}

// extendGroup adds a system to the second group.
func (b *builder) extendGroup() {
	c := b.company
	if len(c.systems) < 2 {
		return
	}
	next, at := c.groups[1], c.from+(c.until-c.from)/2
	next.Version = 2
	next.PhoneSystemIDs = append(slices.Clone(next.PhoneSystemIDs), c.systems[1].id)
	c.changes = append(c.changes, change{at, envelope(events.Changed(&next), at)})
}
