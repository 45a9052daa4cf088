package limit

import (
	"fmt"
	"strings"
)

// Decision says whether a request is allowed.
type Decision struct {
	Allowed    bool
	RetryAfter int // seconds, at least 1; only of a refusal

	outcome outcome
	buckets []bucket
	quotas  []quota // those that are known
}

// RateLimitPolicy returns the value of the RateLimit-Policy header: the budgets that the request is counted in, such as
//
//	"report";q=120;w=60, "tier";q=600;w=60
func (d *Decision) RateLimitPolicy() string {
	items := make([]string, len(d.buckets))
	for i, b := range d.buckets {
		items[i] = fmt.Sprintf("%q;q=%d;w=%d", b.policy, b.limit, seconds(window))
	}
	return strings.Join(items, ", ")
}

// RateLimit returns the value of the RateLimit header: how many permits remain, and in how many seconds the next one
// returns if one is taken, such as
//
//	"report";r=119;t=60, "tier";r=598;t=12
//
// It returns false if no quota is known, because NATS did not decide.
func (d *Decision) RateLimit() (string, bool) {
	items := make([]string, len(d.quotas))
	for i, q := range d.quotas {
		items[i] = q.item()
	}
	return strings.Join(items, ", "), len(items) > 0
}

// The names of the policies in the headers.
const (
	tierPolicy   = "tier"
	reportPolicy = "report"
)

// quota is what remains in a bucket.
type quota struct {
	policy    string
	remaining int     // permits
	wait      instant // milliseconds until the next permit returns; zero if none is taken
}

// item is the quota's item in the RateLimit header.
func (q quota) item() string {
	item := fmt.Sprintf("%q;r=%d", q.policy, q.remaining)
	if q.wait > 0 {
		item += fmt.Sprintf(";t=%d", seconds(q.wait))
	}
	return item
}

// allow allows the request.
func (w *waiter) allow(o outcome, quotas []quota) *Decision {
	return &Decision{Allowed: true, outcome: o, buckets: w.buckets, quotas: quotas}
}

// refuse refuses the request until every full bucket has a permit again.
func (w *waiter) refuse(o outcome, quotas []quota) *Decision {
	var wait instant
	for _, q := range quotas {
		if q.remaining == 0 {
			wait = max(wait, q.wait)
		}
	}
	return &Decision{RetryAfter: seconds(wait), outcome: o, buckets: w.buckets, quotas: quotas}
}

// seconds rounds up to whole seconds, and to at least one: no client is told to retry immediately.
func seconds(wait instant) int { return max(1, int((wait+second-1)/second)) }
