package access

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

// PartitionCount is the number of partitions of the generation that a database serves. Its zero value is ready to use.
// It is safe for concurrent use.
//
// The number changes only when another generation goes live, so a reader remembers it. A statement that is given the
// partition by another number finds no phone system there, unless both numbers give the same partition. So a statement
// that finds the phone system has read the right rows. Only a statement that finds nothing has to be checked against
// the number of its own snapshot.
type PartitionCount struct {
	n atomic.Int32
}

// Of returns the partition of a phone system, and the number of partitions by which it was found. Both are 0 before any
// number is known, and while a generation has no partitions.
func (c *PartitionCount) Of(system uuid.UUID) (partition int16, partitions int) {
	if partitions = int(c.n.Load()); partitions == 0 {
		return 0, 0
	}
	return int16(events.Partition(system, partitions)), partitions
}

// WithGlobal is Of, and also returns the partition of what belongs to no phone system, such as the groups.
func (c *PartitionCount) WithGlobal(system uuid.UUID) (in, global int16, partitions int) {
	if partitions = int(c.n.Load()); partitions == 0 {
		return 0, 0, 0
	}
	return int16(events.Partition(system, partitions)), int16(events.Partition(uuid.Nil, partitions)), partitions
}

// Learn sets the number of partitions to that of a statement's snapshot.
func (c *PartitionCount) Learn(partitions int) { c.n.Store(int32(partitions)) }
