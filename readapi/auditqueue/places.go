package auditqueue

import "github.com/google/uuid"

const (
	// shares is how many lineages can fill the queue with requests that were granted a permit.
	shares = 8
	// refusedPlaces is how many places a lineage can have for requests that were refused before.
	refusedPlaces = 32
)

// places are the bounded number of entries that a queue holds, and what each lineage has of them. A place is taken from
// the reservation of an entry to its acknowledgement.
type places struct {
	capacity int // 0 once nothing may be reserved
	share    int // of a lineage, for granted requests
	taken    int
	lineages map[uuid.UUID]holding
}

// holding is how many places a lineage has.
type holding struct{ granted, refused int }

func newPlaces(capacity int) places {
	return places{capacity: capacity, share: max(1, capacity/shares), lineages: make(map[uuid.UUID]holding)}
}

// take takes a place for a lineage if there is one.
func (p *places) take(lineage uuid.UUID, refused bool) bool {
	held := p.lineages[lineage]
	full := held.granted >= p.share
	if refused {
		full = held.refused >= refusedPlaces
	}

	if full || p.taken >= p.capacity {
		return false
	}
	p.add(lineage, refused, 1)
	return true
}

// add takes n places without asking whether there are any, and frees places if n is negative.
func (p *places) add(lineage uuid.UUID, refused bool, n int) {
	held := p.lineages[lineage]
	if refused {
		held.refused += n
	} else {
		held.granted += n
	}
	p.taken += n

	// A lineage without places costs no memory.
	if p.lineages[lineage] = held; held == (holding{}) {
		delete(p.lineages, lineage)
	}
}
