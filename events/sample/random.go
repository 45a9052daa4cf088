package sample

import (
	"encoding/hex"
	"math/bits"
	"math/rand/v2"

	"github.com/google/uuid"

	"callboard/events"
)

// random is a pseudo-random sequence. Each thing has a separate sequence, so that one more number in one place does not
// change all other places. All of it is integer arithmetic, because processors round differently.
type random struct {
	pcg rand.PCG
}

// The first elements of the sequences' paths, so that no two things share a sequence.
const (
	companyPath = iota
	systemPath
	contactPath
	changePath
	hourPath
	callPath
	livePath
)

// newRandom returns the sequence of a seed and a path, for example of the numbers of a system and of a call.
func newRandom(seed uint64, path ...uint64) random {
	h := mix(seed)
	for _, step := range path {
		// The rotation keeps the second thing of seed 1 apart from the first thing of seed 2.
		h = mix(bits.RotateLeft64(h, 23) ^ mix(step))
	}
	return random{*rand.NewPCG(h, mix(h))}
}

// mix is the finalizer of SplitMix64: it spreads neighbouring numbers over all 64 bits.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below returns a number from 0 to n-1; n must be positive.
func (rng *random) below(n int) int {
	high, _ := bits.Mul64(rng.pcg.Uint64(), uint64(n))
	return int(high)
}

// between returns a number from low to high, both included.
func (rng *random) between(low, high int) int { return low + rng.below(high-low+1) }

// chance is true with a probability in thousandths.
func (rng *random) chance(permille int) bool { return rng.below(1000) < permille }

func pick[T any](rng *random, from []T) T { return from[rng.below(len(from))] }

// weighted returns an index, with a probability in proportion to its weight.
func (rng *random) weighted(weights ...int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	at := rng.below(total)
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return 0
}

// uuid returns a version 4 UUID.
func (rng *random) uuid() uuid.UUID {
	var id uuid.UUID
	rng.fill(id[:])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// sid returns an identifier as telephony providers give to calls (CA) and recordings (RE).
func (rng *random) sid(prefix string) string {
	var raw [16]byte
	rng.fill(raw[:])
	return prefix + hex.EncodeToString(raw[:])
}

func (rng *random) fill(b []byte) {
	for i := 0; i < len(b); i += 8 {
		word := rng.pcg.Uint64()
		for j := range b[i:min(i+8, len(b))] {
			b[i+j] = byte(word >> (8 * j))
		}
	}
}

// hundredths returns a number with two decimals. Its bounds are in hundredths.
func (rng *random) hundredths(low, high int) events.Null[float64] {
	return events.Some(float64(rng.between(low, high)) / 100)
}

// logNormal returns a number from a log-normal distribution (sigma 0.85): most are near the median and a few are many times
// as large, as are the lengths of calls and people's delays.
func (rng *random) logNormal(median int) int {
	// The quantiles at 0, 1/32, 2/32 ... 1, in thousandths of the median.
	quantiles := [...]int{
		105, 205, 271, 326, 376, 424, 470, 517, 564, 611, 660, 710, 763, 817, 875, 936, 1000,
		1069, 1143, 1223, 1311, 1408, 1515, 1636, 1774, 1935, 2126, 2360, 2659, 3066, 3684, 4871, 9528,
	}
	at := rng.below((len(quantiles) - 1) << 10)
	low, high := quantiles[at>>10], quantiles[at>>10+1]
	// A day's milliseconds times a quantile exceed an int of 32 bits.
	return int(int64(median) * int64(low+(high-low)*(at&1023)>>10) / 1000)
}
