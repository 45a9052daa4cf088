package limit

import (
	"fmt"
	"strings"
	"time"
)

// The policies that a client is told of.
const (
	tierPolicy   = "tier"
	reportPolicy = "report"
)

// bucket is a subject that permits are stored on.
type bucket struct {
	policy  string
	quota   int // permits a window
	subject string
	weight  int // messages a permit
	size    int // messages at most
}

// policies are the buckets as a RateLimit-Policy header's value.
func policies(buckets []bucket, window time.Duration) string {
	texts := make([]string, len(buckets))
	for i, b := range buckets {
		texts[i] = fmt.Sprintf("%q;q=%d;w=%d", b.policy, b.quota, seconds(window))
	}
	return strings.Join(texts, ", ")
}

// seconds are whole ones, after which d is over. At least one: nobody is told to try again at once.
func seconds(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}
