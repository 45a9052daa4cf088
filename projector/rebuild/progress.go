package rebuild

import "sync/atomic"

// progress is that of folding, over all parts.
type progress struct {
	tell  func(Progress)
	total int64
	done  atomic.Int64
}

func newProgress(c Config, parts []part) *progress {
	p := &progress{tell: c.Progress}
	for _, part := range parts {
		p.total += part.events
	}
	if p.total > 0 {
		p.tell(Progress{Step: StepFold, Total: p.total})
	}
	return p
}

// of tells of one part's messages, as they are read.
func (p *progress) of(one part) func(messages int64) {
	at := Part{Partition: int(one.target.Partition), Number: one.number, Total: one.events}
	return func(messages int64) {
		if messages == 0 {
			return
		}
		at.Done += messages
		p.tell(Progress{Step: StepFold, Done: p.done.Add(messages), Total: p.total, Part: at})
	}
}
