package status

import (
	"maps"
	"slices"

	"callboard/events"
)

// MessageCount is the message accounting of an entity: what became of its messages.
type MessageCount struct {
	Entity      events.Entity `json:"entity"` // "unknown" if the subject names no entity
	Read        int64         `json:"read"`
	Applied     int64         `json:"applied"`
	Stale       int64         `json:"stale"`
	Conflicting int64         `json:"conflicting"` // of the stale ones: they have the applied version and other content
	Ignored     int64         `json:"ignored"`
	Dead        int64         `json:"dead"`
}

// Outcomes returns the number of messages with an outcome, which must be equal to Read.
func (c MessageCount) Outcomes() int64 { return c.Applied + c.Stale + c.Ignored + c.Dead }

func (c MessageCount) plus(other MessageCount) MessageCount {
	c.Read += other.Read
	c.Applied += other.Applied
	c.Stale += other.Stale
	c.Conflicting += other.Conflicting
	c.Ignored += other.Ignored
	c.Dead += other.Dead
	return c
}

// Total returns the sum of counts, without an entity.
func Total(list []MessageCount) (sum MessageCount) {
	for _, c := range list {
		sum = sum.plus(c)
	}
	return sum
}

// byEntity sums the partitions' counts up, in the order of [events.Entities] with unknown ones last. It returns nil
// without a position.
func byEntity(partitions []Partition) (list []MessageCount) {
	sums := make(map[events.Entity]MessageCount)
	for _, p := range partitions {
		// An empty list, unlike nil, says that a partition has a position.
		if p.MessageCounts != nil && list == nil {
			list = []MessageCount{}
		}

		for _, c := range p.MessageCounts {
			sums[c.Entity] = c.plus(sums[c.Entity])
		}
	}

	known := events.Entities()
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(sums)),
		func(e events.Entity) bool { return slices.Contains(known, e) })

	for _, entity := range slices.Concat(known, unknown) {
		if sum, ok := sums[entity]; ok {
			list = append(list, sum)
		}
	}

	return list
}

// balanced reports whether there are positions, and all message accounting adds up and agrees with the stream.
func balanced(partitions []Partition) bool {
	exists := false
	for _, p := range partitions {
		exists = exists || p.MessageCounts != nil
		if p.Missing != 0 || slices.ContainsFunc(p.MessageCounts, func(c MessageCount) bool { return c.Outcomes() != c.Read }) {
			return false
		}
	}
	return exists
}
