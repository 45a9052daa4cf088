package status

import (
	"slices"
	"strings"

	"callboard/events"
)

// MessageCounts is what became of the messages about an entity, as the ledger beside the position has it.
type MessageCount struct {
	Entity  events.Entity `json:"entity"` // "unknown" where a subject names none
	Read    int64         `json:"read"`
	Applied int64         `json:"applied"`
	Stale   int64         `json:"stale"`
	Ignored int64         `json:"ignored"`
	Dead    int64         `json:"dead"`
}

// Outcomes is the number of messages whose end is known. It is Read, or the ledger is wrong.
func (c MessageCount) Outcomes() int64 { return c.Applied + c.Stale + c.Ignored + c.Dead }

func (c MessageCount) plus(other MessageCount) MessageCount {
	c.Read += other.Read
	c.Applied += other.Applied
	c.Stale += other.Stale
	c.Ignored += other.Ignored
	c.Dead += other.Dead
	return c
}

// Total is the sum of lines, of no entity.
func Total(lines []MessageCount) (sum MessageCount) {
	for _, line := range lines {
		sum = sum.plus(line)
	}
	return sum
}

// byEntity sums lines up, in the order in which entities are made; what is none of them comes last. It is nil where there is no
// ledger.
func byEntity(partitions []Partition) []MessageCount {
	var sums []MessageCount
	for _, p := range partitions {
		if p.MessageCounts != nil && sums == nil {
			sums = []MessageCount{}
		}
		for _, line := range p.MessageCounts {
			i := slices.IndexFunc(sums, func(sum MessageCount) bool { return sum.Entity == line.Entity })
			if i < 0 {
				sums = append(sums, line)
				continue
			}
			sums[i] = sums[i].plus(line)
		}
	}
	slices.SortFunc(sums, func(a, b MessageCount) int {
		if by := place(a.Entity) - place(b.Entity); by != 0 {
			return by
		}
		return strings.Compare(string(a.Entity), string(b.Entity))
	})
	return sums
}

func place(entity events.Entity) int {
	all := events.Entities()
	if i := slices.Index(all, entity); i >= 0 {
		return i
	}
	return len(all)
}
