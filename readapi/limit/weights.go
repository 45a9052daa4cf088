package limit

import "fmt"

// maxBatch is how many messages the server takes as one.
const maxBatch = 1000

// weights say what permits weigh in a stream whose subjects hold size messages each.
type weights struct {
	size   int
	tier   int // messages of a permit of the tier
	report int // messages of a permit of a report operation
}

// weigh finds the lightest permits by which subjects of one size hold so many of each. An allowance that is no larger than a
// report operation's is spent before the operation's own is, so all permits weigh 1. The error is an allowance whose permits
// don't fit into a batch.
func weigh(tier, report int) (weights, error) {
	if tier <= report {
		return weights{size: tier, tier: 1, report: 1}, nil
	}
	for w := (weights{tier: 1}); w.tier < maxBatch; w.tier++ {
		w.report = tier*w.tier/(report+1) + 1 // the lightest of which there are not more than report
		w.size = max(tier*w.tier, report*w.report)
		if w.size/w.tier != tier {
			continue
		}
		if w.tier+w.report > maxBatch {
			break
		}
		return w, nil
	}
	return weights{}, fmt.Errorf("an allowance of %d a minute beside %d of a report operation: its permits don't fit into a batch of %d",
		tier, report, maxBatch)
}
