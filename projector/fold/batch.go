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
func Batch(state *State, clock Clock, messages []Message, decisions Decisions, now events.Time) Result {
	f := folding{
		state: state, decisions: decisions, capping: Capping{Now: now},
		result: Result{Clock: clock, Ends: make([]End, len(messages))},
	}
	for i, m := range messages {
		f.applyMessage(i, m)
	}

	state.Correct(decisions.Corrections)
	if f.capping.Cap.Capped {
		f.result.ClockAdjustments = append(f.result.ClockAdjustments, f.capping.Cap)
	}

	// With this batch, every event up to the clock is in the tables.
	f.result.Clock.RaiseWatermark(f.result.Clock.Now)
	f.dropSuperseded()

	return f.result
}

// folding is the state of [Batch].
type folding struct {
	state     *State
	decisions Decisions
	capping   Capping
	result    Result
}

func (f *folding) applyMessage(i int, m Message) {
	clock := &f.result.Clock
	if m.Clock {
		// It needs no record: a replay reads no clock messages.
		clock.RaiseWatermark(f.plausible(m.StoredAt))
		return
	}

	stored := f.capping.StoredAt(*clock, m.Sequence, f.decisions.ClockAdjustments.StoredAt(m.Sequence, m.StoredAt))
	if adjustment := clock.Advance(m.Sequence, stored, f.decisions.ClockAdjustments); adjustment != nil {
		f.result.ClockAdjustments = append(f.result.ClockAdjustments, *adjustment)
	}

	// A phone system that is not built has no rows, but its messages move the clock.
	if !m.NotBuilt {
		f.result.Ends[i] = f.applyEvent(i, m)
	}
}

// plausible returns the watermark of a clock message.
func (f *folding) plausible(stored events.Time) events.Time {
	if f.capping.Now == 0 {
		return stored
	}
	return PlausibleTime(stored, f.capping.Now)
}

func (f *folding) applyEvent(i int, m Message) End {
	if m.Reason != "" {
		return End{Reason: m.Reason}
	}
	outcome, err := f.state.Apply(m.Event, f.result.Clock.Now)
	if err != nil {
		return End{Reason: err.Error()}
	}
	for _, n := range f.state.Notices {
		f.result.Notices = append(f.result.Notices, BatchNotice{i, n})
	}
	return End{Outcome: outcome}
}

// dropSuperseded keeps the last notice of each artifact, if the artifact is fetchable after the last message. Nobody can
// have fetched what an earlier notice is about: it was there within the batch only.
func (f *folding) dropSuperseded() {
	last := make(map[artifact]int) // the index of the artifact's last notice
	for i, n := range f.result.Notices {
		last[n.artifact()] = i
	}

	kept := f.result.Notices[:0]
	for i, n := range f.result.Notices {
		if a := n.artifact(); last[a] == i && f.state.isFetchable(a) {
			kept = append(kept, n)
		}
	}
	f.result.Notices = kept
}
