package limit

import (
	"fmt"
	"strings"
	"time"
)

// Decision says whether a request is allowed.
type Decision struct {
	Allowed    bool
	RetryAfter int // seconds, at least 1; only of a refusal

	policy string
	quotas func() []quota // the quotas that are known; called once
}

// RateLimitPolicy returns the value of the RateLimit-Policy header: the budgets that the request is counted in, such as
//
//	"report";q=120;w=60, "tier";q=600;w=60
func (d *Decision) RateLimitPolicy() string { return d.policy }

// RateLimit returns the value of the RateLimit header: how many permits remain, and in how many seconds the next one returns if one
// is taken, such as
//
//	"report";r=119;t=60, "tier";r=598;t=12
//
// It leaves out budgets whose quota is unknown, and returns false if none is known. It waits for quotas until the decision's
// deadline. Call it once.
func (d *Decision) RateLimit() (string, bool) {
	quotas := d.quotas()
	now := time.Now()
	var texts []string
	for _, q := range quotas {
		texts = append(texts, q.text(now))
	}
	return strings.Join(texts, ", "), len(texts) > 0
}

// allow allows a request; its quotas may arrive later.
func allow(policy string, quotas func() []quota) *Decision {
	return &Decision{Allowed: true, policy: policy, quotas: quotas}
}

// refuse refuses a request until every full bucket has a permit again.
func refuse(policy string, quotas ...quota) *Decision {
	var wait time.Duration
	now := time.Now()
	for _, q := range quotas {
		if q.remaining == 0 {
			wait = max(wait, q.next.Sub(now))
		}
	}
	return &Decision{RetryAfter: seconds(wait), policy: policy, quotas: func() []quota { return quotas }}
}

// The names of the policies in the headers.
const (
	tierPolicy   = "tier"
	reportPolicy = "report"
)

// bucket is a subject that permits are stored on.
type bucket struct {
	policy  string
	limit   int // permits per window
	subject string
	weight  int // messages per permit
	size    int // messages that the subject holds
}

// quota is what remains in a bucket.
type quota struct {
	bucket    bucket
	remaining int       // permits
	next      time.Time // when the next permit returns; zero if none is taken
}

func (q quota) text(now time.Time) string {
	text := fmt.Sprintf("%q;r=%d", q.bucket.policy, q.remaining)
	if !q.next.IsZero() {
		text += fmt.Sprintf(";t=%d", seconds(q.next.Sub(now)))
	}
	return text
}

// policies returns the value of a RateLimit-Policy header.
func policies(buckets []bucket, window time.Duration) string {
	texts := make([]string, len(buckets))
	for i, b := range buckets {
		texts[i] = fmt.Sprintf("%q;q=%d;w=%d", b.policy, b.limit, seconds(window))
	}
	return strings.Join(texts, ", ")
}

// seconds rounds up to whole seconds, and to at least one: no client is told to retry immediately.
func seconds(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}
