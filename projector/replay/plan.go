package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"callboard/projector/store"
)

// Plan says what is spooled, and how it is divided. A spool that is opened again with the same plan keeps its numbers of slots.
type Plan struct {
	Run     string // of which the spool is, such as a generation: another run can't use it
	Stream  store.Stream
	Parts   []Part
	Targets map[int16]uint64 // by partition: messages above it are spooled only by [Spool.Extend]; none: there is no end

	// OnlyNamed says that messages of phone systems that no part names only move the clock. Else they are in the first part of their
	// partition that names none, or in its first part.
	OnlyNamed bool
}

// Part is some phone systems of a partition that are folded together.
type Part struct {
	PartID
	Systems []uuid.UUID // nil: all that no other part of the partition names
	Slots   int         // by which the part's calls and voicemails are divided; 0 and 1: it is not divided
}

// PartID identifies a part.
type PartID struct {
	Partition int16
	Number    int
}

// HeapPerByte is how many bytes of heap a byte of the stream needs when it is folded: one that is in use, measured on sample events, and
// one that the garbage collector has not freed.
const HeapPerByte = 2

func pieces(bytes, memory int64) int {
	memory = max(memory/HeapPerByte, 1)
	return int(max((bytes+memory-1)/memory, 1))
}

// fingerprint identifies the plan without its numbers of slots, which follow from estimates.
func (p Plan) fingerprint() (string, error) {
	p.Parts = slices.Clone(p.Parts)
	for i := range p.Parts {
		p.Parts[i].Slots = 0
	}
	text, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:]), nil
}
