package sample

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"

	"callboard/events"
)

// random is a pseudo-random sequence. Each phone system, contact and call has a sequence of its own, so that one more
// number in one place does not change all other places. Only integers are drawn, because processors round
// differently.
type random struct {
	*rand.Rand
	bytes *rand.ChaCha8 // the source of Rand
}

// newRandom returns the sequence of a path, such as the seed, "call" and the call's number.
func newRandom(path ...any) random {
	source := rand.NewChaCha8(sha256.Sum256(fmt.Appendln(nil, path...)))
	return random{rand.New(source), source}
}

// between returns a number from low to high, both included.
func (r random) between(low, high int) int { return low + r.IntN(high-low+1) }

// chance is true with a probability in percent.
func (r random) chance(percent int) bool { return r.IntN(100) < percent }

// weighted returns an index, with a probability in proportion to its weight.
func (r random) weighted(weights ...int) int {
	total := 0
	for _, w := range weights {
		total += w
	}

	at := r.IntN(total)
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return 0
}

// around returns a number of which half are below the median, and a few are many times as large: the lengths of calls
// and people's delays are distributed like this.
func (r random) around(median events.Time) events.Time {
	tenths := pick(r, []int64{2, 4, 5, 6, 7, 8, 9, 10, 12, 13, 15, 18, 21, 27, 37, 60})
	return median/10*events.Time(tenths) + events.Time(r.Int64N(int64(median/10)+1))
}

// hundredths returns a number with two decimals. The bounds are in hundredths.
func (r random) hundredths(low, high int) events.Null[float64] {
	return events.Some(float64(r.between(low, high)) / 100)
}

// uuid returns a version 4 UUID.
func (r random) uuid() uuid.UUID { return uuid.Must(uuid.NewRandomFromReader(r.bytes)) }

// sid returns an identifier as telephony providers give to calls (CA) and recordings (RE).
func (r random) sid(prefix string) string {
	var raw [16]byte
	_, _ = r.bytes.Read(raw[:]) // never fails
	return prefix + hex.EncodeToString(raw[:])
}

func pick[T any](r random, from []T) T { return from[r.IntN(len(from))] }
