package sample

import (
	"encoding/hex"
	"math/bits"
	"math/rand/v2"

	"github.com/google/uuid"

	"callboard/events"
)

// dice is a private stream of chance. Whatever is drawn from it depends on what it was made from alone, so that one more
// draw in one place doesn't change every other place. All of it is integer arithmetic: processors differ in how they round.
type dice struct {
	pcg rand.PCG
}

// newDice makes the stream that belongs to a seed and a path, such as a system's and a call's number.
func newDice(seed uint64, path ...uint64) dice {
	h := mix(seed)
	for _, step := range path {
		// Turned, so that seed 1's second thing isn't seed 2's first.
		h = mix(bits.RotateLeft64(h, 23) ^ mix(step))
	}
	return dice{*rand.NewPCG(h, mix(h))}
}

// mix is the finalizer of SplitMix64: it spreads neighbouring numbers over all 64 bits.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below draws from 0 to n-1; n must be positive.
func (d *dice) below(n int) int {
	high, _ := bits.Mul64(d.pcg.Uint64(), uint64(n))
	return int(high)
}

// between draws from low to high, both included.
func (d *dice) between(low, high int) int { return low + d.below(high-low+1) }

// chance is true in so many of a thousand cases.
func (d *dice) chance(permille int) bool { return d.below(1000) < permille }

// pick draws one of several.
func pick[T any](d *dice, from []T) T { return from[d.below(len(from))] }

// weighted draws an index, each as often as its weight says.
func (d *dice) weighted(weights ...int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	at := d.below(total)
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return 0
}

// uuid draws a random (version 4) UUID.
func (d *dice) uuid() uuid.UUID {
	var id uuid.UUID
	d.fill(id[:])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// sid draws an identifier of the shape that telephony gives to calls (CA) and recordings (RE).
func (d *dice) sid(prefix string) string {
	var raw [16]byte
	d.fill(raw[:])
	return prefix + hex.EncodeToString(raw[:])
}

func (d *dice) fill(b []byte) {
	for i := 0; i < len(b); i += 8 {
		word := d.pcg.Uint64()
		for j := range b[i:min(i+8, len(b))] {
			b[i+j] = byte(word >> (8 * j))
		}
	}
}

// hundredths draws a number with two decimals; the bounds are in hundredths.
func (d *dice) hundredths(low, high int) events.Null[float64] {
	return events.Some(float64(d.between(low, high)) / 100)
}

// spread draws from a log-normal distribution: most values are near the median and some are many times it, as with
// the lengths of calls and the time until somebody gets round to something.
func (d *dice) spread(median int) int {
	q := quantiles()
	at := d.below((len(q) - 1) << 10)
	low, high := q[at>>10], q[at>>10+1]
	// An int has 32 bits on some machines, which a day's milliseconds times a quantile exceed.
	return int(int64(median) * int64(low+(high-low)*(at&1023)>>10) / 1000)
}

// quantiles are those of the log-normal distribution (sigma 0.85) at 0, 1/32, 2/32 ... 1, in thousandths of the median.
func quantiles() [33]int {
	return [...]int{
		105, 205, 271, 326, 376, 424, 470, 517, 564, 611, 660, 710, 763, 817, 875, 936, 1000,
		1069, 1143, 1223, 1311, 1408, 1515, 1636, 1774, 1935, 2126, 2360, 2659, 3066, 3684, 4871, 9528,
	}
}
