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

// Advance moves the clock to a message that the stream stored at the given time. recorded are the adjustments of an
// earlier application. The result, if not nil, is a new adjustment to record.
func (c *Clock) Advance(sequence uint64, stored events.Time, recorded ClockAdjustments) *ClockAdjustment {
	c.Now = max(c.Now, stored, recorded.forward(0), recorded.forward(sequence))
	if c.Now < c.Watermark {
		c.Now = c.Watermark
		return &ClockAdjustment{First: sequence, Last: sequence, Time: c.Watermark}
	}
	return nil
}

// RaiseWatermark sets the watermark to at if at is later.
func (c *Clock) RaiseWatermark(at events.Time) { c.Watermark = max(c.Watermark, at) }
