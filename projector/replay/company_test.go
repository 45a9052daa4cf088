package replay_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/sample"
	"callboard/projector/replay"
	"callboard/projector/store"
)

// companyHistory is the history of a company, the same one each time.
func companyHistory(t failer, systems, calls, partitions int) history {
	t.Helper()
	company := sample.New(sample.Config{Seed: 7, Systems: systems, Calls: calls})
	h := history{partitions: partitions, decisions: make(map[int16]store.Decisions)}
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	named := make(map[uuid.UUID]bool)
	add := func(e events.Event) {
		m, err := events.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		if e.System != uuid.Nil && !named[e.System] {
			named[e.System] = true
			h.systems = append(h.systems, e.System)
		}
		m.Subject = strings.Replace(m.Subject, "phones.", fmt.Sprintf("phones.%d.", events.Partition(e.System, partitions)), 1)
		at = at.Add(time.Millisecond)
		h.messages = append(h.messages, events.StoredMessage{Message: m, Sequence: uint64(len(h.messages) + 1), StoredAt: at})
	}
	for e := range company.Directory() {
		add(e)
	}
	for e := range company.History() {
		add(e)
	}
	return h
}

// plan has one part of several slots for each partition.
func (h history) plan(slots int) replay.Plan {
	plan := replay.Plan{Stream: stream()}
	for partition := range h.partitions {
		plan.Parts = append(plan.Parts, replay.Part{PartID: replay.PartID{Partition: int16(partition)}, Slots: slots})
	}
	return plan
}
