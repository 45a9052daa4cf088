package fold

import (
	"cmp"
	"slices"

	"callboard/events"
)

// MaxAhead is how far ahead of a projector's clock a time of the stream may be to count as it is, in milliseconds.
// It is more than the clocks of hosts that are synchronized differ, and little enough that rows whose times lie
// ahead by it do no harm.
const MaxAhead events.Time = 60_000

// PlausibleTime returns what counts as the stream's time when a projector's clock says now: a time of the stream,
// or now if that is ahead by more than [MaxAhead].
func PlausibleTime(stored, now events.Time) events.Time {
	if stored > now+MaxAhead {
		return now
	}
	return stored
}

// ClockCap is the record of messages that count as stored earlier than the stream says, because the clock of its
// server had jumped forward: of a partition's messages First to Last, those that were stored after Time count as
// stored at Time.
type ClockCap struct {
	First, Last  uint64
	LastStoredAt events.Time // when the stream stored Last. Another message with this sequence has another time
	Time         events.Time
	Messages     int // that count as stored at Time
}

// ClockCaps are the recorded caps of a partition. They may overlap. The zero value has none.
type ClockCaps struct {
	caps  []ClockCap // in the order of First
	reach []uint64   // the greatest Last up to each
}

// NewClockCaps returns the caps of a list, in any order.
func NewClockCaps(list []ClockCap) ClockCaps {
	c := ClockCaps{caps: slices.Clone(list)}
	slices.SortFunc(c.caps, func(a, b ClockCap) int { return cmp.Compare(a.First, b.First) })
	var reach uint64
	for _, one := range c.caps {
		reach = max(reach, one.Last)
		c.reach = append(c.reach, reach)
	}
	return c
}

// StoredAt returns when a message counts as stored that the stream stored at a time.
func (c ClockCaps) StoredAt(sequence uint64, stored events.Time) events.Time {
	after, _ := slices.BinarySearchFunc(c.caps, sequence+1, func(one ClockCap, first uint64) int { return cmp.Compare(one.First, first) })
	for i := after - 1; i >= 0 && c.reach[i] >= sequence; i-- {
		if one := c.caps[i]; one.Last >= sequence {
			stored = min(stored, one.Time)
		}
	}
	return stored
}

// Capping decides the cap of a commit of messages that are applied for the first time.
type Capping struct {
	Now events.Time // when the messages were received, by the projector's clock; 0: nothing is decided, as in a replay
	Cap ClockCap    // the decision; without Messages: none
}

// StoredAt returns when the next message of the commit counts as stored. The partition's clock is that before it. A
// message is capped at its projector's clock, or at the partition's where that is ahead already. Up to the end of
// the commit, later messages are capped at the same time, so that a single record says what a replay must know.
func (c *Capping) StoredAt(clock Clock, sequence uint64, stored events.Time) events.Time {
	switch {
	case c.Now == 0:
		return stored
	case c.Cap.Messages > 0:
		if stored <= c.Cap.Time {
			return stored
		}
	case stored == PlausibleTime(stored, c.Now) || stored <= clock.Now:
		return stored
	default:
		c.Cap.First, c.Cap.Time = sequence, max(clock.Now, c.Now)
	}
	c.Cap.Last, c.Cap.LastStoredAt = sequence, stored
	c.Cap.Messages++
	return c.Cap.Time
}

// List returns the caps in the order of their first messages.
func (c ClockCaps) List() []ClockCap { return slices.Clone(c.caps) }
