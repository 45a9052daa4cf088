package access

import (
	"sync"
	"time"
)

// maxRemembered bounds each of the authorizer's memories.
const maxRemembered = 65_536

// deadTime is how long a dead key is remembered.
const deadTime = time.Minute

// deadKeys remembers revoked and expired keys, so that a client that repeats one costs no statement. No statement of
// the registry takes a revocation or an expiry back. What allows something is never remembered.
type deadKeys struct {
	mu   sync.Mutex
	keys recent[string, deadKey] // by the short part
}

type deadKey struct {
	candidate
	until time.Time
}

func newDeadKeys() *deadKeys { return &deadKeys{keys: newRecent[string, deadKey](maxRemembered)} }

// find returns the row of a dead key. The caller verifies the secret.
func (d *deadKeys) find(short string, now time.Time) (candidate, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, found := d.keys.get(short)
	if found && now.After(k.until) {
		d.keys.remove(short)
		return candidate{}, false
	}
	return k.candidate, found
}

// add remembers a dead key. It does not extend the time of one that is remembered.
func (d *deadKeys) add(short string, c candidate, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, found := d.keys.get(short); !found {
		d.keys.put(short, deadKey{c, now.Add(deadTime)})
	}
}
