package limit

import (
	"strings"
	"time"
)

// Decision says whether a request may go on.
type Decision struct {
	Allowed    bool
	RetryAfter int // seconds, 1 or more; of a refusal

	policy    string
	standings func() []standing // those that are known; asked for once
}

// Policy is the value of the RateLimit-Policy header: the budgets that the request is counted in, as
//
//	"report";q=120;w=60, "tier";q=600;w=60
func (d *Decision) RateLimitPolicy() string { return d.policy }

// Standing is the value of the RateLimit header: what is left of the budgets, and in how many seconds the next permit comes back
// where one is out, as
//
//	"report";r=119;t=60, "tier";r=598;t=12
//
// A budget of which nothing is known is left out; false: nothing is known of any. What isn't known yet is waited for, until the
// decision's time is over. It is called once.
func (d *Decision) RateLimit() (string, bool) {
	standings := d.standings()
	now := time.Now()
	var texts []string
	for _, s := range standings {
		texts = append(texts, s.text(now))
	}
	return strings.Join(texts, ", "), len(texts) > 0
}

// allow is a decision whose standings come later.
func allow(policy string, standings func() []standing) *Decision {
	return &Decision{Allowed: true, policy: policy, standings: standings}
}

// refuse is a decision against a request, after which it makes sense to wait until all full buckets are open.
func refuse(policy string, full ...standing) *Decision {
	var wait time.Duration
	now := time.Now()
	for _, s := range full {
		if s.remaining == 0 {
			wait = max(wait, s.opens.Sub(now))
		}
	}
	return &Decision{RetryAfter: seconds(wait), policy: policy, standings: func() []standing { return full }}
}
