package status

import "fmt"

// Problems are what somebody should look at, a sentence each.
func (r Report) Problems() []string {
	var list []string
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
	if p.Fault != "" {
		list = append(list, fmt.Sprintf("partition %d can't go on: %s", p.Partition, p.Fault))
	}
	switch {
	case p.Missing == 1:
		list = append(list, fmt.Sprintf("partition %d: 1 message is not accounted for", p.Partition))
	case p.Missing > 0:
		list = append(list, fmt.Sprintf("partition %d: %d messages are not accounted for", p.Partition, p.Missing))
	case p.Missing < 0:
		list = append(list, fmt.Sprintf("partition %d: %d were read, and the stream holds %d: messages were removed, or read twice",
			p.Partition, *p.Read, *p.Messages))
	}
	for _, line := range p.Coverage {
		if outcomes := line.Outcomes(); outcomes != line.Read {
			list = append(list, fmt.Sprintf("partition %d, %s: the ledger does not add up: %d read, and what became of them makes %d",
				p.Partition, line.Entity, line.Read, outcomes))
		}
	}
	return list
}

// balanced tells whether there is a ledger and every line of it adds up.
func balanced(partitions []Partition) bool {
	kept := false
	for _, p := range partitions {
		kept = kept || p.Coverage != nil
		for _, line := range p.Coverage {
			if line.Outcomes() != line.Read {
				return false
			}
		}
	}
	return kept
}
