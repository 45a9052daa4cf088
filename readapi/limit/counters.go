package limit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Report is a report operation. Each has a budget beside the tier's.
type Report uint8

// The report operations. Their numbers are places in the counters' layout; NoReport is the place of the tier.
const (
	NoReport Report = iota
	CallLogReports
	Dimensions
	budgets = iota
)

// bucket is one of the budgets that a request is counted in.
type bucket struct {
	policy  string // its name in the headers
	counter Report // its place in the counters
	limit   int    // permits in any 60 seconds
}

// counters are the permits that a lineage has taken in the last minute. The zero value has none.
type counters struct {
	Second int64               // of the newest counter, since 1970
	List   [listLength]counter // of one second each, the newest first
}

// listLength is the 61 seconds that 60 seconds can touch, and three for what readers do not know of the time.
const listLength = 61 + 3

// counter is the permits that were taken in one second.
type counter struct {
	Last  uint16 // when the last one was taken, in milliseconds since the second's begin
	Taken [budgets]uint32
}

// maxAhead is how many seconds the counters can be ahead of a reader that estimates the server's time.
const maxAhead = 10

// advance makes the newest counter that of the present second. It comes before everything else that a reader does with
// counters at a moment.
func (c *counters) advance(m moment) {
	now := int64(m.latest / second)

	// The server's clock has been set back. The newest permits count as taken in the next second, older ones before, so
	// that all return in about a minute, and none early.
	if c.Second > now+maxAhead {
		c.Second = now + 1
	}

	// The permits of counters that are pushed out have returned.
	if passed := min(now-c.Second, listLength); passed > 0 {
		copy(c.List[passed:], c.List[:])
		clear(c.List[:passed])
		c.Second = now
	}
}

// returns is when the permits of a counter return.
func (c *counters) returns(i int) instant {
	return instant(c.Second-int64(i))*second + instant(c.List[i].Last) + window
}

// quota returns what remains in a budget.
func (c *counters) quota(b bucket, now instant) quota {
	used := 0
	var wait instant
	for i := range c.List {
		taken, left := int(c.List[i].Taken[b.counter]), c.returns(i)-now
		if taken == 0 || left <= 0 {
			continue
		}

		// A permit is free when this counter has returned, unless newer permits fill the budget.
		if used < b.limit {
			wait = min(left, window)
		}
		used += taken
	}

	return quota{policy: b.policy, remaining: max(0, b.limit-used), wait: wait}
}

// full reports whether one of the budgets has no permit left.
func (c *counters) full(buckets []bucket, m moment) bool {
	return slices.ContainsFunc(buckets, func(b bucket) bool { return c.quota(b, m.earliest).remaining == 0 })
}

// take takes a permit from each budget, or from none if one is full.
func (c *counters) take(buckets []bucket, m moment) bool {
	if c.full(buckets, m) {
		return false
	}

	// A newest counter that is ahead of the clock keeps its date: its permits return late, never early.
	newest := &c.List[0]
	if c.Second == int64(m.latest/second) {
		newest.Last = max(newest.Last, uint16(m.latest%second))
	}
	for _, b := range buckets {
		newest.Taken[b.counter]++
	}
	return true
}

// merge adds what another version of the counters knows.
func (c *counters) merge(other counters) {
	if other.Second > c.Second {
		*c, other = other, *c
	}

	// The same second is further back in the newer list.
	later := int(c.Second - other.Second)
	for i := later; i < len(c.List); i++ {
		to, from := &c.List[i], &other.List[i-later]
		to.Last = max(to.Last, from.Last)
		for b, n := range from.Taken {
			to.Taken[b] = max(to.Taken[b], n)
		}
	}
}

// decision returns a decision, and what remains in the budgets now. A refusal lasts until every full budget has a
// permit again.
func (c *counters) decision(o outcome, buckets []bucket, m moment) *Decision {
	d := &Decision{Allowed: o == allowedByNATS || o == allowedWithoutNATS, outcome: o, buckets: buckets}

	// The budget that stays full longest decides when a client tries again.
	var wait instant
	for _, b := range buckets {
		q := c.quota(b, m.earliest)
		if q.remaining == 0 {
			wait = max(wait, q.wait)
		}
		d.quotas = append(d.quotas, q)
	}

	if !d.Allowed {
		d.RetryAfter = seconds(wait)
	}
	return d
}

// version is counters as they are stored.
type version struct {
	record
	sequence uint64 // the stream's; 0: the server has no version
}

// record is the layout of a stored version, in big endian.
type record struct {
	Layout uint8
	Mark   uint64 // random: it tells a reader without an acknowledgement that the stored version is its own
	counters
}

// layout is the number of this layout.
const layout = 1

func (r record) encode() []byte {
	r.Layout = layout
	data, err := binary.Append(nil, binary.BigEndian, r)
	if err != nil {
		panic(err) // the layout has a fixed size
	}
	return data
}

var errMalformed = errors.New("the counters are malformed")

func decode(data []byte) (record, error) {
	var r record
	n, err := binary.Decode(data, binary.BigEndian, &r)
	if err != nil || n != len(data) || r.Layout != layout {
		return record{}, fmt.Errorf("%w: another release has written them", errMalformed)
	}
	return r, nil
}
