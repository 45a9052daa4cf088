package fold

import (
	"math"
	"sort"

	"callboard/events"
)

// Jumps finds where the clock of a stream's servers was ahead, from the stream alone: it was if a later message of the stream has a time that is
// more than [MaxAhead] earlier. Messages are added in the order of the stream. The zero value has none.
//
// The memory depends on how long a time the stream covers: a minute takes some tens of bytes, and a second of it that has messages some more.
type Jumps struct {
	caps     []ClockCap
	segments []segment // in the order of their latest times
	minima   []minimum // in the order of their times
}

// segment are messages that were stored within [MaxAhead].
type segment struct {
	first, last      uint64
	lastStoredAt     events.Time
	earliest, latest events.Time // latest of this and all before
	messages         int
}

// minimum says that a time is the earliest of a message and all later ones.
type minimum struct {
	sequence uint64
	storedAt events.Time
}

// minimaInterval is the precision of these times. A jump is [MaxAhead] at least, so a second is enough.
const minimaInterval events.Time = 1000

// Add adds the next message.
func (l *Jumps) Add(sequence uint64, storedAt events.Time) {
	l.minimize(sequence, storedAt)
	l.addCap(storedAt)
	n := len(l.segments)
	if n == 0 || storedAt >= l.segments[n-1].earliest+MaxAhead {
		l.segments = append(l.segments, segment{sequence, sequence, storedAt, storedAt, storedAt, 1})
		return
	}
	s := &l.segments[n-1]
	s.last, s.lastStoredAt, s.messages = sequence, storedAt, s.messages+1
	s.earliest, s.latest = min(s.earliest, storedAt), max(s.latest, storedAt)
}

// addCap caps the messages so far that were stored too late for the next one.
func (l *Jumps) addCap(storedAt events.Time) {
	n := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].latest > storedAt+MaxAhead })
	if n == len(l.segments) {
		return
	}
	capped := l.segments[n]
	for _, s := range l.segments[n+1:] {
		capped.last, capped.lastStoredAt = s.last, s.lastStoredAt
		capped.messages += s.messages
	}
	l.caps = append(l.caps, ClockCap{
		First: capped.first, Last: capped.last, LastStoredAt: capped.lastStoredAt, Time: storedAt, Messages: capped.messages,
	})
	capped.earliest, capped.latest = storedAt, storedAt
	if n > 0 {
		capped.latest = max(storedAt, l.segments[n-1].latest)
	}
	l.segments = append(l.segments[:n], capped)
}

func (l *Jumps) minimize(sequence uint64, storedAt events.Time) {
	n := sort.Search(len(l.minima), func(i int) bool { return l.minima[i].storedAt >= storedAt })
	l.minima = l.minima[:n]
	if n == 0 || storedAt >= l.minima[n-1].storedAt+minimaInterval {
		l.minima = append(l.minima, minimum{sequence, storedAt})
	} else {
		l.minima[n-1].sequence = sequence // nearly as early, and after it
	}
}

// Caps returns the caps of the messages that were added, each with the earliest time after it. Messages is how many it may apply to.
func (l *Jumps) Caps() []ClockCap { return l.caps }

// After returns the earliest time of the messages after a sequence, or a second less; the greatest time if there is none.
func (l *Jumps) After(sequence uint64) events.Time {
	n := sort.Search(len(l.minima), func(i int) bool { return l.minima[i].sequence > sequence })
	if n == len(l.minima) {
		return math.MaxInt64
	}
	return l.minima[n].storedAt
}
