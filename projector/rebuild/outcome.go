package rebuild

import (
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"

	"callboard/projector/store"
)

// maxUnreadable limits the messages that are listed. All are counted.
const maxUnreadable = 1000

// outcome is what a loader has committed in this run. It is safe for concurrent use.
type outcome struct {
	mu         sync.Mutex
	onCommit   func(messages int64) // called with their number after each commit; nil: not
	messages   int64
	unreadable []UnreadableMessage
	touched    map[uuid.UUID]struct{} // phone systems of which calls were written since track; nil: it was not called
}

// report makes the outcome call a function with the number of messages, now and after each commit; nil: no more.
func (o *outcome) report(onCommit func(messages int64)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.onCommit = onCommit; onCommit != nil {
		onCommit(o.messages)
	}
}

// committed adds a change set.
func (o *outcome) committed(changes store.ChangeSet) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.messages += changes.MessageCounts.TotalRead()
	if o.touched != nil {
		for call := range changes.State.CallLogs.Rows() {
			o.touched[call.System] = struct{}{}
		}
	}
	for _, dead := range changes.DeadLetters {
		if len(o.unreadable) < maxUnreadable {
			o.unreadable = append(o.unreadable, UnreadableMessage{dead.Sequence, dead.Subject, dead.Reason})
		}
	}
	if o.onCommit != nil {
		o.onCommit(o.messages)
	}
}

// track begins to note the phone systems of which calls are written.
func (o *outcome) track() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.touched = make(map[uuid.UUID]struct{})
}

// tracked returns them.
func (o *outcome) tracked() []uuid.UUID {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.touched))
}

// total returns how many messages were committed.
func (o *outcome) total() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.messages
}

// unread returns the messages that could not be applied, although they are not dead letters on record.
func (o *outcome) unread() []UnreadableMessage {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.unreadable)
}
