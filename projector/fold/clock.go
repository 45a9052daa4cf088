package fold

import "callboard/events"

// Clock is a partition's time: the running maximum, in sequence order, of the times at which the stream stored its messages.
// Those are a server's wall clock and can step back; the Clock never does.
type Clock struct {
	Now events.Time
	// Watermark was published: every event stored before it was in the tables then. The Clock is lifted over it, so that no
	// row can appear behind it.
	Watermark events.Time
}

// Lift is a message at which the clock was lifted to a published watermark. A replay knows no watermarks and needs the lifts.
type Lift struct {
	Sequence uint64
	Time     events.Time
}

// Advance moves the clock to a message. lifts are those recorded when the message was first applied; the returned lift, if any,
// is a new one to record.
func (c *Clock) Advance(sequence uint64, stored events.Time, lifts map[uint64]events.Time) (lift *Lift) {
	c.Now = max(c.Now, stored, lifts[sequence])
	if c.Now < c.Watermark {
		c.Now = c.Watermark
		return &Lift{Sequence: sequence, Time: c.Watermark}
	}
	return nil
}

// Publish raises the watermark to at, if it is not there yet.
func (c *Clock) Publish(at events.Time) { c.Watermark = max(c.Watermark, at) }
