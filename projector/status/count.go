package status

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// counted is how many messages of a partition lie on either side of its position.
type counted struct {
	// low and high bound the number up to the position. They are equal, unless more events arrived between any two questions.
	low, high int64
	above     uint64
}

// closest is the number up to the position that agrees most with the ledger: the two differ only where that is proven.
func (c counted) closest(read int64) int64 { return max(c.low, min(read, c.high)) }

// rounds is how often the server is asked at most.
const rounds = 10

// count counts a partition's messages. The server only counts what lies above a sequence, and events arrive between two
// questions. But none arrives below the position. So a question for all and then one for those above give a number that is not
// too high, and asked the other way round, one that is not too low; where nothing arrived they meet. All are put to one consumer,
// since another may be on a server that has not stored as much.
func count(ctx context.Context, stream jetstream.Stream, filter string, position uint64) (counted, error) {
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject:     filter,
		DeliverPolicy:     jetstream.DeliverAllPolicy,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		InactiveThreshold: 10 * time.Second, // its end, should this program not come to delete it
	})
	if err != nil {
		return counted{}, fmt.Errorf("count: %w", err)
	}
	name, all := consumer.CachedInfo().Name, consumer.CachedInfo().NumPending
	c := counted{high: int64(position)}
	for range rounds {
		if c.above, err = pending(ctx, stream, name, position+1); err != nil {
			return c, err
		}
		if c.low = max(c.low, int64(all)-int64(c.above)); c.low == c.high {
			break
		}
		if all, err = pending(ctx, stream, name, 1); err != nil {
			return c, err
		}
		if c.high = min(c.high, int64(all)-int64(c.above)); c.low == c.high {
			break
		}
	}
	if err := stream.DeleteConsumer(ctx, name); err != nil {
		return c, fmt.Errorf("count: %w", err)
	}
	return c, nil
}

// pending is the number of the consumer's messages from a sequence on.
func pending(ctx context.Context, stream jetstream.Stream, consumer string, from uint64) (uint64, error) {
	reset, err := stream.ResetConsumerToSequence(ctx, consumer, from)
	if err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	return reset.NumPending, nil
}
