package sample

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

// change is something that happens to the directory during the window.
type change struct {
	at    events.Time
	event events.Event
}

// planner plans what happens to one system's directory. The first two extensions and the first call group are left alone, so that
// there is always somebody to answer.
type planner struct {
	*system
	company *Company
	dice    dice
}

// planChanges plans all systems' changes and sets the terms within which calls may use what changes.
func (b *builder) planChanges() {
	for _, s := range b.company.systems {
		p := planner{s, b.company, newDice(s.seed, changePath, s.index)}
		p.marry()
		p.leave()
		p.pause()
		p.reorganize()
		p.attribute()
		p.maintain()
		p.reclassify()
	}
	b.growGroup()
	slices.SortStableFunc(b.company.changes, func(x, y change) int { return cmp.Compare(x.at, y.at) })
}

// when is a time in the window, between so many hundredths of it.
func (p *planner) when(low, high int) events.Time {
	length := p.company.until - p.company.from
	return p.company.from + length*events.Time(p.dice.between(low*100, high*100))/10000
}

func (p *planner) change(at events.Time, state events.State) {
	p.company.changes = append(p.company.changes, change{at, publish(events.Changed(state), at)})
}

func (p *planner) delete(at events.Time, last events.Identity) {
	last.Version++
	p.company.changes = append(p.company.changes, change{at, publish(events.Deleted(last), at)})
}

// marry gives somebody another last name, and the person's representative too.
func (p *planner) marry() {
	x, at := p.extensions[2], p.when(20, 45)
	next := x.Extension
	next.Version, next.UpdatedAt = 2, at
	next.Name = person{x.person.first, pick(&p.dice, p.library.last)}.name()
	p.change(at, &next)
	for _, r := range p.people {
		if r.extension == x {
			renamed := r.Representative
			renamed.Version, renamed.UpdatedAt, renamed.Name = 2, at, next.Name
			p.change(at+minute, &renamed)
		}
	}
}

// leave has somebody quit: first the phones go, then the places in call groups, then the extension.
func (p *planner) leave() {
	x, at := p.extensions[3], p.when(50, 70)
	x.until = at - hour
	for _, phone := range p.phones {
		if phone.ExtensionID.Value == x.ID {
			freed := *phone
			freed.Version, freed.UpdatedAt, freed.Status = 2, at, "inactive"
			freed.ExtensionID = events.Null[uuid.UUID]{}
			p.change(at, &freed)
		}
	}
	gone := func(r events.Reference) bool { return r.ID == x.ID }
	for _, g := range p.groups {
		if slices.ContainsFunc(g.Members, gone) {
			next := g.CallGroup
			next.Version, next.UpdatedAt = 2, at+minute
			next.Members = slices.DeleteFunc(slices.Clone(g.Members), gone)
			p.change(at+minute, &next)
			g.latest = &next
		}
	}
	p.delete(at+2*minute, x.Identity())
}

// pause has somebody go on leave; the extension stays, inactive, and a new colleague starts.
func (p *planner) pause() {
	x, at := p.extensions[4], p.when(35, 60)
	x.until = at - hour
	idle := x.Extension
	idle.Version, idle.Status, idle.UpdatedAt = 2, "inactive", at
	p.change(at, &idle)

	colleague := p.library.person(&p.dice)
	hired := p.addExtension(&p.dice, "130", colleague.name())
	hired.CreatedAt, hired.UpdatedAt = at+hour, at+hour
	hired.person, hired.from = colleague, at+2*hour
	p.change(at+hour, &hired.Extension)
}

// reorganize renames or dissolves a department, and gives some businesses a new name.
func (p *planner) reorganize() {
	g, at := p.groups[len(p.groups)-1], p.when(72, 85)
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
		p.change(p.when(40, 60), &next)
	}
}

// attribute stops attributing calls to one person and removes another.
func (p *planner) attribute() {
	if len(p.people) < 4 {
		return
	}
	idle, gone, at := p.people[len(p.people)-1], p.people[len(p.people)-2], p.when(55, 80)
	idle.until, gone.until = at-hour, at-hour
	if idle.extension != p.extensions[2] {
		next := idle.Representative
		next.Version, next.Status, next.UpdatedAt = 2, "inactive", at
		p.change(at, &next)
	}
	if gone.extension != p.extensions[2] {
		p.delete(at+hour, gone.Identity())
	}
}

// maintain updates a phone's firmware, releases a number and switches an assistant on.
func (p *planner) maintain() {
	for _, phone := range p.phones {
		if phone.ExtensionID.Value == p.extensions[0].ID {
			next, at := *phone, p.when(10, 90)
			next.Version, next.UpdatedAt, next.Firmware = 2, at, events.Some("99.1.0")
			p.change(at, &next)
		}
	}
	number, at := *p.numbers[len(p.numbers)-1], p.when(15, 95)
	if !number.IsPrimary && number.Status == "active" {
		number.Version, number.Status, number.UpdatedAt = 2, "released", at
		p.change(at, &number)
	}
	agent, at := *p.agents[len(p.agents)-1], p.when(25, 50)
	agent.Version, agent.UpdatedAt, agent.Status = 2, at, "inactive"
	if len(p.agents) > 1 {
		p.change(at, &agent)
	}
}

// reclassify rewords one of the business's own classifications and gives another up.
func (p *planner) reclassify() {
	if len(p.classes) == 0 {
		return
	}
	next, at := *p.classes[0], p.when(30, 70)
	next.Version, next.Label, next.UpdatedAt = 2, "Question", at
	p.change(at, &next)
	p.delete(p.when(60, 90), p.classes[1].Identity())
}

// growGroup lets one more system into the second group.
func (b *builder) growGroup() {
	c := b.company
	if len(c.systems) < 2 {
		return
	}
	next, at := c.groups[1], c.from+(c.until-c.from)/2
	next.Version = 2
	next.PhoneSystemIDs = append(slices.Clone(next.PhoneSystemIDs), c.systems[1].id)
	c.changes = append(c.changes, change{at, publish(events.Changed(&next), at)})
}
