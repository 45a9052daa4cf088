package rebuild

import (
	"sync"

	"github.com/google/uuid"

	"callboard/projector/store"
)

// maxUnreadable limits the messages that are listed.
const maxUnreadable = 1000

// outcome is what a loader has committed in this run. It is read while nothing is committed.
type outcome struct {
	onCommit   func(messages int64) // called with their number after each commit; nil: not
	messages   int64
	unreadable []UnreadableMessage    // could not be applied, although they are not dead letters on record
	touched    map[uuid.UUID]struct{} // phone systems of which calls were written since the snapshot; nil: there is none

	mu sync.Mutex // held by committed
}

// committed adds a change set. It is safe for concurrent use.
func (o *outcome) committed(changes store.ChangeSet) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.messages += changes.MessageCounts.TotalRead()

	// These calls are not in the snapshot of the comparison.
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
