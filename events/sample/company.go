package sample

import (
	"cmp"
	"time"

	"github.com/google/uuid"

	"callboard/events"
)

// Config describes a company. Zero values take the defaults that the fields name.
type Config struct {
	Seed    uint64
	Systems int       // phone systems; default 4
	Calls   int       // call logs, that is legs, in all of History: so many distinct identifiers, exactly; default 0
	Until   time.Time // the window's end; default 2026-03-01T00:00:00Z
	Days    int       // the window's length; default 28
}

// Target is something that an API key can be issued for.
type Target struct {
	ID   uuid.UUID
	Name string
}

// Company is a phone company with its customers. It never changes, and several goroutines may use one.
type Company struct {
	seed          uint64
	from, until   events.Time
	systems       []*system
	groups        []events.Group
	organizations []Target
	changes       []change // of all systems, by time
}

// New builds the company that config describes. Its memory depends on the number of systems alone.
func New(config Config) *Company {
	until := events.TimeOf(config.Until)
	if config.Until.IsZero() {
		until = events.TimeOf(time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC))
	}
	days := max(cmp.Or(config.Days, 28), 1)
	c := &Company{seed: config.Seed, from: until - events.Time(days)*day, until: until}
	b := builder{company: c, library: newLibrary(), dice: newDice(config.Seed, companyPath)}
	for i := range max(cmp.Or(config.Systems, 4), 1) {
		c.systems = append(c.systems, b.system(i))
	}
	b.formGroups()
	b.shareCalls(max(config.Calls, 0), days)
	b.planChanges()
	return c
}

// The first steps of the paths to the dice, so that no two things share a stream.
const (
	companyPath = iota
	systemPath
	contactPath
	changePath
	hourPath
	callPath
	livePath
	audioPath
)

// Lengths of time.
const (
	second events.Time = 1000
	minute             = 60 * second
	hour               = 60 * minute
	day                = 24 * hour
)

// Systems are the phone systems, with the names they have before History.
func (c *Company) Systems() []Target {
	targets := make([]Target, 0, len(c.systems))
	for _, s := range c.systems {
		targets = append(targets, Target{s.id, s.name})
	}
	return targets
}

// Groups are the phone system groups.
func (c *Company) Groups() []Target {
	targets := make([]Target, 0, len(c.groups))
	for _, g := range c.groups {
		targets = append(targets, Target{g.ID, g.Name})
	}
	return targets
}

// Organizations are the organizations that phone systems belong to.
func (c *Company) Organizations() []Target {
	return append([]Target(nil), c.organizations...)
}
