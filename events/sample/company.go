// Package sample simulates a phone company: small businesses with their phones, people and callers, and the change events
// that their services publish. It provides data for demonstrations, load tests and tests.
//
// A [Company] is a function of its [Config]. The same configuration produces the same events, byte for byte, on every
// machine: identifiers, times and texts follow from the seed, and no clock is read.
//
//	Directory   phone systems, groups, extensions, phones, numbers, agents, call groups, menus, representatives, classifications
//	History     the calls of a period with recordings, transcripts, analyses and voicemails, with edits, renames, deletions
//	Live        further calls, which end when the caller says so
//
// Events come in publishing order; their times never decrease within one sequence. What happens to a call later waits in a
// queue. Its length depends on the number of phone systems and of concurrent calls, so a long history needs no more memory than a
// short one.
//
// Each arrow is an event; steps in parentheses do not always happen:
//
//	call         -> ended (-> outcome known) (-> edited) (-> deleted)
//	recording    -> processing -> ready | unavailable (-> deleted)
//	transcript   -> queued (-> running) -> completed | failed | skipped (-> removed)
//	analysis     (-> pending) (-> processing) -> completed | failed
//	voicemail    -> left (-> listened) (-> archived) (-> deleted)
//
// A transcript is queued just before its call or voicemail is published. Some recordings, transcripts and analyses are complete before their
// call is published, as happens when several services publish.
// History ends in the middle of things: what would happen to the newest calls after its end is missing.
//
// Recordings share a few clips, which [Audio] returns as WAV. A recording has the clip whose length is nearest to its own.
// Phone numbers are from ranges that are reserved for fiction, and all web addresses end in .example.
//
// [Publish] publishes a company's directory and history.
package sample

import (
	"cmp"
	"slices"
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

// Target is a phone system, a group or an organization: an API key can be issued for it.
type Target struct {
	ID   uuid.UUID
	Name string
}

// Company is a phone company with its customers. It is immutable and safe for concurrent use.
type Company struct {
	seed          uint64
	from, until   events.Time
	systems       []*system
	groups        []events.Group
	organizations []Target
	changes       []change // of all systems, by time
}

// New builds the company that config describes. Its memory depends on the number of systems only.
func New(config Config) *Company {
	until := events.TimeOf(config.Until)
	if config.Until.IsZero() {
		until = events.TimeOf(time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC))
	}
	days := max(cmp.Or(config.Days, 28), 1)
	c := &Company{seed: config.Seed, from: until - events.Time(days)*day, until: until}
	b := builder{company: c, library: newLibrary(), rng: newRandom(config.Seed, companyPath)}
	for i := range max(cmp.Or(config.Systems, 4), 1) {
		c.systems = append(c.systems, b.system(i))
	}
	b.formGroups()
	b.distributeCalls(max(config.Calls, 0), days)
	b.planChanges()
	return c
}

// Lengths of time.
const (
	second events.Time = 1000
	minute             = 60 * second
	hour               = 60 * minute
	day                = 24 * hour
)

// Systems are the phone systems, with their names at the start of History.
func (c *Company) Systems() []Target {
	var targets []Target
	for _, s := range c.systems {
		targets = append(targets, Target{s.id, s.name})
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
