package fault_test

import (
	"context"
	"time"

	"callboard/readapi/access"
)

// visitor is a client that asks one thing after the other and remembers what it was promised of each phone system, whoever answered:
// a promise is never taken back.
type visitor struct {
	*clients
	promised map[string]time.Time // by phone system
}

func newVisitor(c *clients) *visitor { return &visitor{clients: c, promised: map[string]time.Time{}} }

// ask is like [clients.ask].
func (v *visitor) ask(ctx context.Context, r *reader, path string, key access.Key, tag string, good ...int) (got answer, ok bool) {
	got, ok = v.clients.ask(ctx, r, path, key, tag, good...)
	said := got.header.Get("Data-Complete-Through")
	if said == "" {
		return got, ok
	}
	const home = len("/7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10")
	now, err := time.Parse(time.RFC3339, said)
	if before := v.promised[path[:home]]; err != nil || now.Before(before) {
		v.complain("%s%s: complete through %s, and %s before: %v", r.name, path, said, before, err)
	}
	v.promised[path[:home]] = now
	return got, ok
}
