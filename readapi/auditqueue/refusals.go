package auditqueue

import (
	"net/netip"
	"time"

	"github.com/google/uuid"

	"callboard/events"
)

const (
	// countTime is how long refused requests are counted before the count becomes an entry.
	countTime = 10 * time.Second
	// maxGroups is how many groups of a key are counted separately.
	maxGroups = 32
	// maxAddresses is the largest number of addresses that is counted.
	maxAddresses = 1000
)

// refusals count requests that were refused before they had a permit. Requests of a key with the same operation,
// status, code and address are a group. The first request of a group is written at once, and the next ones are counted
// until countTime ends. A group that had none in this time is forgotten.
//
// A key that sends from many addresses or asks for many operations has maxGroups groups. Its other requests are counted
// together, one count for each status and code. So memory is bounded by the number of issued keys, and counting never
// fails.
type refusals struct {
	keys     map[uuid.UUID]*refusedKey
	due      []*refusedKey // all keys, in the order of until
	groups   int           // of all keys
	capacity int           // the largest number of groups of all keys
}

// refusedKey is a key whose requests are counted.
type refusedKey struct {
	id, lineage uuid.UUID
	until       time.Time // the end of this countTime
	groups      map[group]*count
	separate    int // groups that are not overflow
}

// group is what requests that are counted together have in common.
type group struct {
	status    int
	code      string
	overflow  bool // of any operation and address
	operation string
	address   netip.Addr
}

// write writes an entry for a lineage, and returns false if there is no place for it.
type write func(lineage uuid.UUID, e events.AuditEntry) bool

func newRefusals(capacity int) refusals {
	return refusals{keys: make(map[uuid.UUID]*refusedKey), capacity: capacity}
}

// add writes or counts a request.
func (r *refusals) add(lineage uuid.UUID, e events.AuditEntry, now time.Time, write write) {
	k := r.key(lineage, e.KeyID, now)
	g := group{status: e.Status, code: e.Code, operation: e.Operation, address: e.Address}
	c := k.groups[g]

	// The first request of a group is an entry at once.
	if c == nil && k.separate < maxGroups && r.groups < r.capacity {
		c = &count{}
		k.groups[g] = c
		k.separate++
		r.groups++

		// Without a place, the request is counted in its new group.
		if write(lineage, e) {
			return
		}
	}

	if c == nil {
		c = k.overflow(e)
	}
	c.add(e)
}

func (r *refusals) key(lineage, id uuid.UUID, now time.Time) *refusedKey {
	k := r.keys[id]
	if k == nil {
		k = &refusedKey{id: id, lineage: lineage, until: now.Add(countTime), groups: make(map[group]*count)}
		r.keys[id] = k
		r.due = append(r.due, k)
	}
	return k
}

// overflow returns the count of the requests that have no group.
func (k *refusedKey) overflow(e events.AuditEntry) *count {
	g := group{status: e.Status, code: e.Code, overflow: true}
	if k.groups[g] == nil {
		k.groups[g] = &count{addresses: make(map[netip.Addr]struct{})}
	}
	return k.groups[g]
}

// flushDue writes the counts of the keys whose countTime has ended. A count without a place goes on for another
// countTime.
func (r *refusals) flushDue(now time.Time, write write) {
	for len(r.due) > 0 && !r.due[0].until.After(now) {
		k := r.due[0]
		r.due = r.due[1:]
		if r.writeCounts(k, write); len(k.groups) == 0 {
			delete(r.keys, k.id)
			continue
		}

		// A key that still has a group is looked at again after another countTime.
		k.until = now.Add(countTime)
		r.due = append(r.due, k)
	}
}

// flushAll writes all counts, for which there must be places.
func (r *refusals) flushAll(write write) {
	for _, k := range r.keys {
		r.writeCounts(k, write)
	}
}

func (r *refusals) writeCounts(k *refusedKey, write write) {
	for g, c := range k.groups {
		switch {
		// A group stays when its count is written, so that its next request is counted, too.
		case c.entry.Count > 0:
			if write(k.lineage, c.result()) {
				c.entry.Count = 0
			}

		// A group without requests in this countTime is forgotten. Only separate groups count towards the limits.
		case g.overflow:
			delete(k.groups, g)
		default:
			delete(k.groups, g)
			k.separate--
			r.groups--
		}
	}
}

// count is the entry of the requests that were counted since the last one was written.
type count struct {
	entry     events.AuditEntry
	addresses map[netip.Addr]struct{} // nil in a group, which has one address
}

// add counts a request. Requests are added in the order of their ends, not of their arrivals.
func (c *count) add(e events.AuditEntry) {
	n := c.entry.Count
	if n == 0 {
		clear(c.addresses)
		c.entry = e
		c.entry.LastAt, c.entry.LastRequestID = e.At, e.RequestID
	}

	// The entry has the first and the last request, in the order of arrival.
	c.entry.Count = n + 1
	if e.At.Before(c.entry.At) {
		c.entry.At, c.entry.RequestID = e.At, e.RequestID
	}
	if !e.At.Before(c.entry.LastAt) {
		c.entry.LastAt, c.entry.LastRequestID, c.entry.Address = e.At, e.RequestID, e.Address
	}

	// What differs among the requests is left out.
	if e.System != c.entry.System {
		c.entry.System = uuid.NullUUID{}
	}
	if c.addresses != nil {
		c.entry.Operation, c.entry.System = "", uuid.NullUUID{}
		if len(c.addresses) < maxAddresses {
			c.addresses[e.Address] = struct{}{}
		}
	}
}

// result returns the entry with an id.
func (c *count) result() events.AuditEntry {
	e := c.entry
	e.ID = uuid.Must(uuid.NewV7())
	if e.Addresses = len(c.addresses); e.Count == 1 {
		e.Count, e.LastAt, e.LastRequestID, e.Addresses = 0, time.Time{}, "", 0
	}
	return e
}
