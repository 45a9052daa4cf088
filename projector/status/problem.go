package status

import (
	"fmt"

	"callboard/projector/ingest"
	"callboard/schema"
)

// Problems are what somebody should look at, a sentence each.
func (r Report) Problems() []string {
	var list []string
	if !r.Migrated {
		list = append(list, fmt.Sprintf("%s: %s", ingest.MigrationMissing, schema.ErrNotMigrated))
	}
	for _, p := range r.Partitions {
		list = append(list, p.problems()...)
	}
	if g := live(r.Generations); g != nil && !g.Current {
		list = append(list, fmt.Sprintf("generation %d, the live one, is of another release: run 'callboard rebuild'", g.ID))
	}
	return list
}

func (p Partition) problems() []string {
	var list []string
	if p.StopReason != "" {
		list = append(list, fmt.Sprintf("partition %d can't go on: %s: %s", p.Partition, p.StopReason, p.stopDetail))
	}
	switch {
	case p.Missing == 1:
		list = append(list, fmt.Sprintf("partition %d: 1 message is not accounted for: 'callboard rebuild' reads it", p.Partition))
	case p.Missing > 0:
		list = append(list, fmt.Sprintf("partition %d: %d messages are not accounted for: 'callboard rebuild' reads them", p.Partition, p.Missing))
	case p.Missing < 0:
		list = append(list, fmt.Sprintf("partition %d: %d were read, and the stream holds %d: messages were removed, or read twice: 'callboard verify' shows whether rows are wrong",
			p.Partition, *p.Read, *p.Messages))
	}
	for _, line := range p.MessageCounts {
		if outcomes := line.Outcomes(); outcomes != line.Read {
			list = append(list, fmt.Sprintf("partition %d, %s: the ledger does not add up: %d read, and what became of them makes %d: 'callboard rebuild' counts anew",
				p.Partition, line.Entity, line.Read, outcomes))
		}
	}
	return list
}

// balanced tells whether there is a ledger, every line of it adds up, and no message is without one.
func balanced(partitions []Partition) bool {
	kept := false
	for _, p := range partitions {
		kept = kept || p.MessageCounts != nil
		if p.Missing != 0 {
			return false
		}
		for _, line := range p.MessageCounts {
			if line.Outcomes() != line.Read {
				return false
			}
		}
	}
	return kept
}
