package console

import (
	"slices"
	"sync"
	"time"
)

// window is the time that the history covers.
const window = time.Hour

// sample holds the watermark's age in seconds by partition, -1 for a partition without one. It is nil where no sample could be taken.
type sample struct {
	at   time.Time
	ages []float32
}

// history is a ring of the last hour's samples.
type history struct {
	mu   sync.Mutex
	ring []sample // of constant length; the next sample replaces ring[next]
	next int
}

func newHistory(interval time.Duration) history {
	return history{ring: make([]sample, max(window/interval, 1)+1)}
}

func (h *history) add(at time.Time, ages map[int]time.Duration) {
	s := sample{at: at}
	for partition, age := range ages {
		for len(s.ages) <= partition {
			s.ages = append(s.ages, -1)
		}
		s.ages[partition] = float32(age.Seconds())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ring[h.next] = s
	h.next = (h.next + 1) % len(h.ring)
}

// samples returns the samples, the oldest first.
func (h *history) samples() []sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := slices.Concat(h.ring[h.next:], h.ring[:h.next])
	return slices.DeleteFunc(list, func(s sample) bool { return s.at.IsZero() })
}

// age returns the age of a partition's watermark in seconds.
func (s sample) age(partition int) (seconds float64, ok bool) {
	if partition >= len(s.ages) || s.ages[partition] < 0 {
		return 0, false
	}
	return float64(s.ages[partition]), true
}

// oldest returns the partition whose watermark is the oldest.
func (s sample) oldest() (partition int, seconds float64, ok bool) {
	for i := range s.ages {
		if age, known := s.age(i); known && (!ok || age > seconds) {
			partition, seconds, ok = i, age, true
		}
	}
	return partition, seconds, ok
}
