package fold

import "callboard/events"

// Message is a message of a partition.
type Message struct {
	Sequence uint64
	StoredAt events.Time
	Event    events.Event
	Reason   string // why the message is a dead letter; empty: the event can be applied
	Clock    bool   // it is a clock message, which raises the watermark and has no event
	NotBuilt bool   // it is of a phone system that is not built, and moves the clock alone
}

// Decisions are what was decided when the messages of a partition were first applied. A replay that repeats them
// gives the same rows.
type Decisions struct {
	Corrections      Corrections // that the partition's clock has not reached
	ClockAdjustments ClockAdjustments
}

// Result is what [Batch] makes of messages, beside the rows of the state.
type Result struct {
	Clock            Clock             // after the last message
	Ends             []End             // by message
	ClockAdjustments []ClockAdjustment // that are to be recorded
	Notices          []BatchNotice     // of what is fetchable after the last message
}

// End is what became of a message's event.
type End struct {
	Outcome Outcome
	Reason  string // why the event changed nothing and is a dead letter; empty: it was applied, or has no event
}

// BatchNotice is a notice of one of the messages of a batch.
type BatchNotice struct {
	Message int // its index
	Notice
}

// Batch applies messages in order to the rows that they touch. now is when the messages were received, by the
// projector's clock; 0: they were applied before, and no cap is decided.
func Batch(state *State, clock Clock, messages []Message, known Decisions, now events.Time) Result {
	b := batch{state: state, known: known, capping: Capping{Now: now}, result: Result{Clock: clock, Ends: make([]End, len(messages))}}
	for i, m := range messages {
		b.applyMessage(i, m)
	}

	state.Correct(known.Corrections)
	if b.capping.Cap.Capped {
		b.result.ClockAdjustments = append(b.result.ClockAdjustments, b.capping.Cap)
	}
	b.result.Clock.RaiseWatermark(b.result.Clock.Now)
	b.dropSuperseded()
	return b.result
}

type batch struct {
	state   *State
	known   Decisions
	capping Capping
	result  Result
}

func (b *batch) applyMessage(i int, m Message) {
	clock := &b.result.Clock
	if m.Clock {
		// It needs no record: a replay reads no clock messages.
		clock.RaiseWatermark(b.plausible(m.StoredAt))
		return
	}

	stored := b.capping.StoredAt(*clock, m.Sequence, b.known.ClockAdjustments.StoredAt(m.Sequence, m.StoredAt))
	if adjustment := clock.Advance(m.Sequence, stored, b.known.ClockAdjustments); adjustment != nil {
		b.result.ClockAdjustments = append(b.result.ClockAdjustments, *adjustment)
	}
	if !m.NotBuilt {
		b.result.Ends[i] = b.applyEvent(i, m)
	}
}

// plausible returns the watermark of a clock message.
func (b *batch) plausible(stored events.Time) events.Time {
	if b.capping.Now == 0 {
		return stored
	}
	return PlausibleTime(stored, b.capping.Now)
}

func (b *batch) applyEvent(i int, m Message) End {
	if m.Reason != "" {
		return End{Reason: m.Reason}
	}
	outcome, err := b.state.Apply(m.Event, b.result.Clock.Now)
	if err != nil {
		return End{Reason: err.Error()}
	}
	for _, n := range b.state.Notices {
		b.result.Notices = append(b.result.Notices, BatchNotice{i, n})
	}
	return End{Outcome: outcome}
}

// dropSuperseded drops the notices of what is not fetchable any more at the end of the batch, and all but the last
// one of each artifact: nobody can have fetched what was there within the batch only.
func (b *batch) dropSuperseded() {
	all := b.result.Notices
	seen := make(map[artifact]bool)
	last := len(all) // the notices from here on stay
	for i := len(all) - 1; i >= 0; i-- {
		a := all[i].artifact()
		if seen[a] {
			continue
		}
		seen[a] = true
		if b.state.isFetchable(a) {
			last--
			all[last] = all[i]
		}
	}
	b.result.Notices = all[last:]
}
