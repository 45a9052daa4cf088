package rebuild

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"callboard/projector/store"
)

// countVerifier compares what became of the messages of partitions. The served numbers are those of a partition, so it compares a
// partition's sums when all of its parts are folded to the same message. Where messages arrive between the snapshots of two parts, it
// compares nothing.
type countVerifier struct {
	collector *collector

	mu         sync.Mutex // guards what follows
	partitions map[int16]*partitionCounts
}

type partitionCounts struct {
	parts       int    // that are not folded yet
	folded      bool   // a part is folded
	lastMessage uint64 // of the part that was folded last
	moved       bool   // two parts end with different messages
	expected    store.MessageCounts
}

func newCountVerifier(c *collector, parts []part) *countVerifier {
	v := &countVerifier{collector: c, partitions: make(map[int16]*partitionCounts)}
	for _, p := range parts {
		counts := v.partitions[p.target.Partition]
		if counts == nil {
			counts = &partitionCounts{expected: make(store.MessageCounts)}
			v.partitions[p.target.Partition] = counts
		}
		counts.parts++
	}
	return v
}

// add adds the messages of a part, which was folded up to a position. conn is in the snapshot of that position. A nil verifier compares
// nothing.
func (v *countVerifier) add(ctx context.Context, conn *pgx.Conn, at store.Position, expected store.MessageCounts) error {
	if v == nil || !v.complete(at, expected) {
		return nil
	}
	served, err := store.ReadMessageCounts(ctx, conn, liveSchema, at.Partition)
	if err != nil {
		return fmt.Errorf("read the message counts: %w", err)
	}
	v.collector.diffMessageCounts(at.Partition, v.partitions[at.Partition].expected, served)
	return nil
}

// complete adds the messages of a part, and tells whether the sums can be compared now.
func (v *countVerifier) complete(at store.Position, expected store.MessageCounts) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	counts := v.partitions[at.Partition]
	counts.moved = counts.moved || counts.folded && counts.lastMessage != at.LastMessage
	counts.folded, counts.lastMessage = true, at.LastMessage
	counts.expected.Add(expected)
	counts.parts--
	return counts.parts == 0 && !counts.moved
}
