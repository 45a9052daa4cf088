package limit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// instant is a time by the server's clock, in milliseconds since 1970.
type instant int64

const (
	second instant = 1000
	window         = 60 * second
)

// moment is what a reader knows of the server's time: it is not before earliest, and not after latest. The difference
// is three seconds at most.
type moment struct{ earliest, latest instant }

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
	second int64               // of the newest counter, since 1970
	list   [listLength]counter // of one second each, the newest first
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

	// The server's clock has been set back. Permits of the future count as taken now, so that they return in a minute.
	if c.second > now+maxAhead {
		all := counter{Last: uint16(m.latest % second)}
		for _, other := range c.list {
			for b, n := range other.Taken {
				all.Taken[b] += n
			}
		}
		*c = counters{second: now, list: [listLength]counter{all}}
	}

	// The permits of counters that are pushed out have returned.
	if passed := min(now-c.second, listLength); passed > 0 {
		copy(c.list[passed:], c.list[:])
		clear(c.list[:passed])
		c.second = now
	}
}

// returns is when the permits of a counter return.
func (c *counters) returns(i int) instant {
	return instant(c.second-int64(i))*second + instant(c.list[i].Last) + window
}

// used counts a budget's permits that have not returned.
func (c *counters) used(b Report, now instant) (used int) {
	for i := range c.list {
		if c.returns(i) > now {
			used += int(c.list[i].Taken[b])
		}
	}
	return used
}

// full reports whether one of the budgets has no permit left.
func (c *counters) full(buckets []bucket, m moment) bool {
	return slices.ContainsFunc(buckets, func(b bucket) bool { return c.used(b.counter, m.earliest) >= b.limit })
}

// take takes a permit from each budget, or from none if one is full.
func (c *counters) take(buckets []bucket, m moment) bool {
	if c.full(buckets, m) {
		return false
	}
	newest := &c.list[0]
	if c.second == int64(m.latest/second) {
		newest.Last = max(newest.Last, uint16(m.latest%second))
	}
	for _, b := range buckets {
		newest.Taken[b.counter]++
	}
	return true
}

// merge adds what another version of the counters knows.
func (c *counters) merge(other counters) {
	if other.second > c.second {
		*c, other = other, *c
	}
	later := int(c.second - other.second)
	for i := later; i < len(c.list); i++ {
		to, from := &c.list[i], &other.list[i-later]
		to.Last = max(to.Last, from.Last)
		for b, n := range from.Taken {
			to.Taken[b] = max(to.Taken[b], n)
		}
	}
}

// quotas returns what remains in budgets.
func (c *counters) quotas(buckets []bucket, m moment) []quota {
	quotas := make([]quota, len(buckets))
	for i, b := range buckets {
		quotas[i] = c.quota(b, m.earliest)
	}
	return quotas
}

func (c *counters) quota(b bucket, now instant) quota {
	used := c.used(b.counter, now)
	q := quota{policy: b.policy, remaining: max(0, b.limit-used)}

	// The oldest permits return first.
	for i := len(c.list) - 1; i >= 0; i-- {
		taken := int(c.list[i].Taken[b.counter])
		if taken == 0 || c.returns(i) <= now {
			continue
		}
		if used -= taken; used < b.limit {
			q.wait = min(c.returns(i)-now, window)
			break
		}
	}
	return q
}

// version is counters as they are stored.
type version struct {
	counters
	mark     uint64 // random: it tells a reader without an acknowledgement that the stored version is its own
	sequence uint64 // the stream's, which is not encoded; 0: the server has no version
}

// encoded is the layout of a stored version, in big endian.
type encoded struct {
	Layout uint8
	Mark   uint64
	Second int64
	List   [listLength]counter
}

// layout is the number of this layout.
const layout = 1

func (v *version) encode() []byte {
	data, err := binary.Append(nil, binary.BigEndian, encoded{layout, v.mark, v.second, v.list})
	if err != nil {
		panic(err) // the layout has a fixed size
	}
	return data
}

var errMalformed = errors.New("the counters are malformed")

func decode(data []byte) (version, error) {
	var e encoded
	n, err := binary.Decode(data, binary.BigEndian, &e)
	if err != nil || n != len(data) || e.Layout != layout {
		return version{}, fmt.Errorf("%w: another release has written them", errMalformed)
	}
	return version{counters: counters{second: e.Second, list: e.List}, mark: e.Mark}, nil
}
