package fold

import "callboard/events"

// Clock is a partition's time: the running maximum, in sequence order, of the times at which the stream stored its
// messages. Those times are a server's wall clock and can step back; the Clock never does.
type Clock struct {
	Now events.Time
	// Watermark is the last one published: every event stored before it is in the tables. The Clock moves past it before
	// another event is applied, so that no row appears behind it.
	Watermark events.Time
}

// ClockAdjustment is a message at which the clock moved forward to a published watermark, because the stream stored
// the message at an earlier time. A replay has no watermarks and needs the adjustments to give rows the same times.
// One with sequence 0 is the least clock of a partition: where the stream takes the place of another one, its rows
// are later than all that was complete before.
type ClockAdjustment struct {
	Sequence uint64
	Time     events.Time
}

// Advance moves the clock to a message that the stream stored at the given time. recorded holds the adjustments of
// an earlier application, by sequence. The result, if not nil, is a new adjustment to record.
func (c *Clock) Advance(sequence uint64, stored events.Time, recorded map[uint64]events.Time) *ClockAdjustment {
	c.Now = max(c.Now, stored, recorded[0], recorded[sequence])
	if c.Now < c.Watermark {
		c.Now = c.Watermark
		return &ClockAdjustment{Sequence: sequence, Time: c.Watermark}
	}
	return nil
}

// RaiseWatermark sets the watermark to at if at is later.
func (c *Clock) RaiseWatermark(at events.Time) { c.Watermark = max(c.Watermark, at) }
