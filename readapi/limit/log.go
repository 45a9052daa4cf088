package limit

import (
	"cmp"
	"slices"
)

// permitLog is a sliding log: the permits that a lineage has taken in the last window, for its tier and for each report operation. The
// server stores one version per lineage, and each version is made from the one before by taking permits.
//
// A permit is counted from a tick that is not before the one in which the server stored it, and until a window and a tick have passed.
// So it is never forgotten early. Ticks never fall from one version to the next.
type permitLog struct {
	origin  uint64   // random; the same in all versions since the server last had none
	newest  tick     // of this version
	writers []writer // the readers that wrote last, latest first
	buckets []bucketLog
}

// writer is a reader's last write. It tells a reader that got no acknowledgement whether its write was stored.
type writer struct {
	reader, number uint64
}

// maxWriters is how many readers' last writes a log remembers.
const maxWriters = 32

// bucketLog is the permits of one budget, in ascending order of their ticks.
type bucketLog struct {
	name    string
	permits []permits
	total   int
	fresh   int // permits that this version has added; they are among those of the newest tick
}

// permits are the permits of one tick.
type permits struct {
	at    tick
	count int
}

// bucket is one of the budgets that a request is counted in.
type bucket struct {
	policy string // its name in the headers
	name   string // its name in the log
	limit  int    // permits per window
}

// clone returns a copy that can be changed.
func (l *permitLog) clone() permitLog {
	c := *l
	c.writers, c.buckets = slices.Clone(l.writers), slices.Clone(l.buckets)
	for i := range c.buckets {
		c.buckets[i].permits = slices.Clone(c.buckets[i].permits)
	}
	return c
}

// expire removes the permits whose window has passed at a tick.
func (l *permitLog) expire(now, window tick) {
	for i := range l.buckets {
		b := &l.buckets[i]
		for len(b.permits) > 0 && b.permits[0].at+window+1 <= now {
			b.total -= b.permits[0].count
			b.permits = b.permits[1:]
		}
	}
	l.removeEmpty()
}

func (l *permitLog) removeEmpty() {
	l.buckets = slices.DeleteFunc(l.buckets, func(b bucketLog) bool { return b.total == 0 })
}

// begin makes the log the next version, written by w at a tick.
func (l *permitLog) begin(now tick, w writer) {
	l.newest = max(l.newest, now)
	for i := range l.buckets {
		l.buckets[i].fresh = 0
	}
	l.writers = slices.DeleteFunc(l.writers, func(other writer) bool { return other.reader == w.reader })
	l.writers = slices.Insert(l.writers, 0, w)
	l.writers = l.writers[:min(len(l.writers), maxWriters)]
}

// wrote reports whether w is a reader's last write.
func (l *permitLog) wrote(w writer) bool { return slices.Contains(l.writers, w) }

// bucket returns the permits of a budget, nil if there are none.
func (l *permitLog) bucket(name string) *bucketLog {
	for i := range l.buckets {
		if l.buckets[i].name == name {
			return &l.buckets[i]
		}
	}
	return nil
}

// full reports whether one of the budgets has no permit left.
func (l *permitLog) full(buckets []bucket) bool {
	return slices.ContainsFunc(buckets, func(b bucket) bool {
		taken := l.bucket(b.name)
		return taken != nil && taken.total >= b.limit
	})
}

// take takes a permit from each budget at the newest tick, or from none if one is full.
func (l *permitLog) take(buckets []bucket) bool {
	if l.full(buckets) {
		return false
	}
	for _, b := range buckets {
		taken := l.bucket(b.name)
		if taken == nil {
			i, _ := slices.BinarySearchFunc(l.buckets, b.name, func(other bucketLog, name string) int { return cmp.Compare(other.name, name) })
			l.buckets = slices.Insert(l.buckets, i, bucketLog{name: b.name})
			taken = &l.buckets[i]
		}
		taken.add(l.newest, 1)
		taken.fresh++
	}
	return true
}

// add adds permits at a tick that is not before the last one's.
func (b *bucketLog) add(at tick, count int) {
	b.total += count
	if last := len(b.permits) - 1; last >= 0 && b.permits[last].at == at {
		b.permits[last].count += count
		return
	}
	b.permits = append(b.permits, permits{at, count})
}

// giveBack removes a permit that an earlier version took from a budget at a tick, and that was not used. If the log counts it from a
// later tick, an older permit is removed in its place, so that no other permit is forgotten early.
func (l *permitLog) giveBack(name string, at tick) {
	b := l.bucket(name)
	if b == nil || b.total == 0 {
		return
	}
	i := 0
	for i+1 < len(b.permits) && b.permits[i+1].at <= at {
		i++
	}
	b.total--
	if b.permits[i].count--; b.permits[i].count == 0 {
		b.permits = slices.Delete(b.permits, i, i+1)
	}
	l.removeEmpty()
}

// maxAhead is how far a log may be ahead of the time at which the server stored it.
const maxAhead = 10

// setStoredTick counts the permits of this version from the tick in which the server stored it. It returns false if the log is dated later
// than that by more than readers' estimates can be: then no permit is counted from a later tick than that.
func (l *permitLog) setStoredTick(at tick) bool {
	plausible := l.newest <= at+maxAhead
	for i := range l.buckets {
		b := &l.buckets[i]
		if plausible && l.newest < at {
			b.moveFresh(at)
		} else if !plausible {
			b.moveBack(at)
		}
		b.fresh = 0
	}
	if !plausible || l.newest < at {
		l.newest = at
	}
	return plausible
}

// moveFresh counts the fresh permits from a later tick.
func (b *bucketLog) moveFresh(at tick) {
	if b.fresh == 0 {
		return
	}
	last := len(b.permits) - 1
	moved := min(b.fresh, b.permits[last].count)
	b.total -= moved
	if b.permits[last].count -= moved; b.permits[last].count == 0 {
		b.permits = b.permits[:last]
	}
	b.add(at, moved)
}

// moveBack counts all permits of later ticks from a tick.
func (b *bucketLog) moveBack(at tick) {
	i, _ := slices.BinarySearchFunc(b.permits, at, func(p permits, at tick) int { return cmp.Compare(p.at, at) })
	later := b.permits[i:]
	b.permits = b.permits[:i]
	for _, p := range later {
		b.total -= p.count
		b.add(at, p.count)
	}
}

// merge adds what another log knows, so that no window has fewer permits than in either. It is for logs of which neither was made from
// the other, after the server has lost its log.
func (l *permitLog) merge(other *permitLog) {
	l.newest = max(l.newest, other.newest)
	for i := range l.buckets {
		l.buckets[i].fresh = 0
	}
	for _, b := range other.buckets {
		merged := l.bucket(b.name)
		if merged == nil {
			l.buckets = append(l.buckets, bucketLog{name: b.name})
			merged = &l.buckets[len(l.buckets)-1]
		}
		*merged = mergeBuckets(*merged, b)
	}
	slices.SortFunc(l.buckets, func(a, b bucketLog) int { return cmp.Compare(a.name, b.name) })
}

// mergeBuckets returns the fewest permits of which every window that ends now has as many as in a and in b.
func mergeBuckets(a, b bucketLog) bucketLog {
	merged := bucketLog{name: a.name}
	i, j := len(a.permits)-1, len(b.permits)-1
	sumA, sumB := 0, 0
	for i >= 0 || j >= 0 {
		at := tick(0)
		if i >= 0 {
			at = a.permits[i].at
		}
		if j >= 0 {
			at = max(at, b.permits[j].at)
		}
		if i >= 0 && a.permits[i].at == at {
			sumA += a.permits[i].count
			i--
		}
		if j >= 0 && b.permits[j].at == at {
			sumB += b.permits[j].count
			j--
		}
		if count := max(sumA, sumB) - merged.total; count > 0 {
			merged.permits = append(merged.permits, permits{at, count})
			merged.total += count
		}
	}
	slices.Reverse(merged.permits)
	return merged
}

// quota returns what remains in a budget at a tick.
func (l *permitLog) quota(b bucket, now, window tick) quota {
	q := quota{policy: b.policy, remaining: b.limit}
	taken := l.bucket(b.name)
	if taken == nil {
		return q
	}
	q.remaining = max(0, b.limit-taken.total)
	left := taken.total
	for _, p := range taken.permits {
		if left -= p.count; left < b.limit {
			q.wait = min(p.at+window+1-now, window).duration()
			break
		}
	}
	return q
}

func (l *permitLog) quotas(buckets []bucket, now, window tick) []quota {
	quotas := make([]quota, len(buckets))
	for i, b := range buckets {
		quotas[i] = l.quota(b, now, window)
	}
	return quotas
}
