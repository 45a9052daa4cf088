// Package partition tells in which partition of a generation the rows of a phone system are.
//
// The number of partitions is a property of the generation, so it changes only when another generation goes live. A reader remembers it. A
// statement that is given the partition by another number finds no phone system there, unless both numbers give the same partition. So a
// statement that finds the phone system has read the right rows, and only one that doesn't has to be checked against the number of its own
// snapshot.
package partition

import (
	"errors"
	"sync/atomic"

	"github.com/google/uuid"

	"callboard/events"
)

// Attempts is how often a statement runs while the number of partitions changes.
const Attempts = 4

// ErrSwitching is returned for a statement that met another number of partitions each time.
var ErrSwitching = errors.New("the number of partitions changes again and again")

// Count is the number of partitions of the generation that a database serves, as its statements have told. Its zero value is to be used
// before the first one. It is safe for concurrent use.
type Count struct {
	n atomic.Int32
}

// Of returns the partition of a phone system, and the number of partitions by which it was found. Before any number is known, or while a
// generation has no partitions yet, the number is 0 and the partition, too.
func (c *Count) Of(system uuid.UUID) (partition int16, partitions int) {
	if partitions = int(c.n.Load()); partitions == 0 {
		return 0, 0
	}
	return int16(events.Partition(system, partitions)), partitions
}

// WithGlobal is Of, and also returns the partition of what belongs to no phone system, such as the groups.
func (c *Count) WithGlobal(system uuid.UUID) (in, global int16, partitions int) {
	if partitions = int(c.n.Load()); partitions == 0 {
		return 0, 0, 0
	}
	return int16(events.Partition(system, partitions)), int16(events.Partition(uuid.Nil, partitions)), partitions
}

// Learn sets the number of partitions to that of a statement's snapshot.
func (c *Count) Learn(partitions int) { c.n.Store(int32(partitions)) }
