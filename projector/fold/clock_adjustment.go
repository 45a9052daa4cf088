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

// ClockAdjustment is the record of a correction of a partition's clock. A replay needs it to give rows the same times.
//
// A forward adjustment is of one message, First and Last. The stream stored the message before a watermark that was
// published, so the clock moved to the watermark, Time: a replay has no watermarks. A forward adjustment of message 0 is
// the least clock of a partition: where the stream takes the place of another one, its rows are later than all that was
// complete before.
//
// A capped adjustment is of the messages First to Last, because the clock of the stream's server had jumped forward:
// messages that were stored after Time count as stored at Time.
type ClockAdjustment struct {
	Capped       bool // false: forward
	First, Last  uint64
	LastStoredAt events.Time // of a capped one: when the stream stored Last. Another message with this sequence has another time
	Time         events.Time
	Messages     int // of a capped one: that count as stored at Time
}

// ClockAdjustments are the recorded adjustments of a partition. They may overlap. The zero value has none.
type ClockAdjustments struct {
	list  []ClockAdjustment // in the order of First
	reach []uint64          // the greatest Last up to each
}

// NewClockAdjustments returns the adjustments of a list, in any order.
func NewClockAdjustments(list []ClockAdjustment) ClockAdjustments {
	a := ClockAdjustments{list: slices.Clone(list)}
	slices.SortFunc(a.list, func(a, b ClockAdjustment) int { return cmp.Compare(a.First, b.First) })
	var reach uint64
	for _, one := range a.list {
		reach = max(reach, one.Last)
		a.reach = append(a.reach, reach)
	}
	return a
}

// List returns the adjustments in the order of their first messages.
func (a ClockAdjustments) List() []ClockAdjustment { return slices.Clone(a.list) }

// StoredAt returns when a message counts as stored that the stream stored at a time.
func (a ClockAdjustments) StoredAt(sequence uint64, stored events.Time) events.Time {
	for one := range a.of(sequence) {
		if one.Capped {
			stored = min(stored, one.Time)
		}
	}
	return stored
}

// forward returns where the clock moved at a message; 0: no forward adjustment is of the message.
func (a ClockAdjustments) forward(sequence uint64) (to events.Time) {
	for one := range a.of(sequence) {
		if !one.Capped {
			to = one.Time
		}
	}
	return to
}

// of yields the adjustments of a message.
func (a ClockAdjustments) of(sequence uint64) func(yield func(ClockAdjustment) bool) {
	return func(yield func(ClockAdjustment) bool) {
		after, _ := slices.BinarySearchFunc(a.list, sequence+1,
			func(one ClockAdjustment, first uint64) int { return cmp.Compare(one.First, first) })
		for i := after - 1; i >= 0 && a.reach[i] >= sequence; i-- {
			if one := a.list[i]; one.Last >= sequence && !yield(one) {
				return
			}
		}
	}
}

// Capping decides how the clock is capped in a commit of messages that are applied for the first time.
type Capping struct {
	Now events.Time     // when the messages were received, by the projector's clock; 0: nothing is decided, as in a replay
	Cap ClockAdjustment // the decision, unless its Capped is false
}

// StoredAt returns when the next message of the commit counts as stored. The partition's clock is that before it. A
// message is capped at its projector's clock, or at the partition's where that is ahead already. Up to the end of
// the commit, later messages are capped at the same time, so that a single record says what a replay must know.
func (c *Capping) StoredAt(clock Clock, sequence uint64, stored events.Time) events.Time {
	switch {
	case c.Now == 0:
		return stored

	case c.Cap.Capped:
		if stored <= c.Cap.Time {
			return stored
		}

	case stored == PlausibleTime(stored, c.Now) || stored <= clock.Now:
		return stored

	default:
		c.Cap = ClockAdjustment{Capped: true, First: sequence, Time: max(clock.Now, c.Now)}
	}

	// The record must name every message that it caps, so that a replay caps the same messages.
	c.Cap.Last, c.Cap.LastStoredAt = sequence, stored
	c.Cap.Messages++
	return c.Cap.Time
}
