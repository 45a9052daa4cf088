package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

// Partition is the state of one partition.
type Partition struct {
	Partition  int        `json:"partition"`
	Head       uint64     `json:"head"`       // the sequence of its last message
	Position   uint64     `json:"position"`   // the sequence up to which it is applied
	LagEvents  uint64     `json:"lagEvents"`  // its messages above the position; meaningless in a stopped partition
	LagSeconds float64    `json:"lagSeconds"` // the age of the oldest of them
	Watermark  *time.Time `json:"watermark"`
	// WatermarkAheadSeconds is how far the watermark is ahead of this host's clock; 0: it is not.
	WatermarkAheadSeconds float64 `json:"watermarkAheadSeconds"`

	Owner      *string `json:"owner"`          // the application name of the projector that owns it
	Node       string  `json:"node,omitempty"` // host and port of the server that has its rows, where the projection is distributed
	StopReason string  `json:"stopReason,omitempty"`
	StopDetail string  `json:"stopDetail,omitempty"` // what happened, and what to do

	// Messages is the number of messages in the stream up to the position. It is null in a stopped partition, and in
	// one without a position.
	Messages      *int64         `json:"messages"`
	Read          *int64         `json:"read"`    // according to the message accounting; null without a position
	Missing       int64          `json:"missing"` // Messages - Read; any other value than 0 is a defect
	MessageCounts []MessageCount `json:"-"`       // nil without a position
}

func (p *Partition) setPosition(row position, now time.Time) {
	p.WatermarkAheadSeconds = max(row.Watermark.Sub(now).Seconds(), 0)
	p.Position, p.Watermark, p.MessageCounts = uint64(row.Sequence), &row.Watermark, row.MessageCounts
	if p.MessageCounts != nil {
		read := Total(p.MessageCounts).Read
		p.Read = &read
	}
}

func (p Partition) problems() []string {
	var list []string
	if p.StopReason != "" {
		list = append(list, fmt.Sprintf("partition %d is stopped: %s: %s", p.Partition, p.StopReason, p.StopDetail))
	}

	if p.WatermarkAheadSeconds > maxWatermarkAhead.Seconds() {
		list = append(list, fmt.Sprintf("partition %d: the watermark is %s ahead of this host's clock: "+
			"rows that change until then get its time",
			p.Partition, seconds(p.WatermarkAheadSeconds)))
	}

	// The message accounting: as many messages as the stream has, and each with an outcome.
	switch {
	case p.Missing == 1:
		list = append(list, fmt.Sprintf("partition %d: 1 message up to the position is missing in the message accounting: "+
			"run 'callboard rebuild'", p.Partition))
	case p.Missing > 0:
		list = append(list, fmt.Sprintf("partition %d: %d messages up to the position are missing in the message accounting: "+
			"run 'callboard rebuild'", p.Partition, p.Missing))

	case p.Missing < 0:
		list = append(list, fmt.Sprintf("partition %d: the message accounting has %d messages, but the stream %d: "+
			"messages were deleted or read twice: run 'callboard verify' to compare the "+
			"rows", p.Partition, *p.Read, *p.Messages))
	}

	for _, c := range p.MessageCounts {
		if outcomes := c.Outcomes(); outcomes != c.Read {
			list = append(list, fmt.Sprintf("partition %d, %s: the message accounting does not add up: "+
				"read = %d, applied + stale + ignored + dead = %d: run 'callboard rebuild'",
				p.Partition, c.Entity, c.Read, outcomes))
		}
	}

	return list
}

const (
	maxMeasurements = 3
	measureInterval = 250 * time.Millisecond
)

// measure reads the stream. If the message accounting disagrees it measures again, because a replica that answers can
// lag behind the position for a moment.
func (p *Partition) measure(ctx context.Context, js jetstream.JetStream, stream jetstream.Stream, now time.Time) error {
	for n := range maxMeasurements {
		if n > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(measureInterval):
			}
		}

		if err := p.measureOnce(ctx, js, stream, now); err != nil {
			return err
		}
		if p.Missing == 0 {
			break
		}
	}

	return nil
}

func (p *Partition) measureOnce(
	ctx context.Context, js jetstream.JetStream, stream jetstream.Stream, now time.Time,
) error {
	filter := events.PartitionFilter(p.Partition)
	name := stream.CachedInfo().Config.Name

	last, err := events.LastMessage(ctx, js, name, filter)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		// The stream has no message of the partition.
		p.compare(counts{})
		return nil
	}
	if err != nil {
		return fmt.Errorf("head: %w", err)
	}

	c, err := countMessages(ctx, stream, filter, p.Position)
	if err != nil {
		return err
	}

	p.compare(c)

	// A head up to the position leaves no lag.
	if p.Head = last.Sequence; p.Head <= p.Position {
		return nil
	}
	p.LagEvents = c.above

	// The age of the oldest message above the position.
	next, err := events.NextMessage(ctx, js, name, p.Position+1, filter)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil // a replica that lags has answered
	}
	if err != nil {
		return fmt.Errorf("oldest message above the position: %w", err)
	}

	p.LagSeconds = max(now.Sub(next.StoredAt).Seconds(), 0)
	return nil
}

// compare compares the stream's messages up to the position with the message accounting.
func (p *Partition) compare(c counts) {
	if p.Read == nil || p.StopReason != "" {
		return
	}
	messages := c.closest(*p.Read)
	p.Messages, p.Missing = &messages, messages-*p.Read
}

// counts are the numbers of a partition's messages up to its position and above it.
type counts struct {
	// low and high bound the number up to the position. They differ if events arrived between all requests.
	low, high int64
	above     uint64
}

// closest returns the possible number up to the position that is closest to read, so that a difference is certain.
func (c counts) closest(read int64) int64 { return max(c.low, min(read, c.high)) }

// maxRounds limits the pairs of requests of countMessages.
const maxRounds = 10

// countMessages counts a partition's messages. The server counts only messages from a sequence on, and events can
// arrive between two requests, but only above the position. So the count of all messages minus a later count of those
// above the position is not too high, and minus an earlier count it is not too low. If no event arrives between, both
// are equal. All requests use one consumer, since another one can be on a server that has stored less.
func countMessages(ctx context.Context, stream jetstream.Stream, filter string, position uint64) (counts, error) {
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject:     filter,
		DeliverPolicy:     jetstream.DeliverAllPolicy,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		InactiveThreshold: time.Minute, // the server deletes it if this process can't
	})
	if err != nil {
		return counts{}, fmt.Errorf("count messages: %w", err)
	}

	// low and high approach each other until they are equal.
	name, all := consumer.CachedInfo().Name, consumer.CachedInfo().NumPending
	c := counts{high: int64(position)}

	for range maxRounds {
		if c.above, err = countFrom(ctx, stream, name, position+1); err != nil {
			return c, err
		}
		if c.low = max(c.low, int64(all)-int64(c.above)); c.low == c.high {
			break
		}

		if all, err = countFrom(ctx, stream, name, 1); err != nil {
			return c, err
		}
		if c.high = min(c.high, int64(all)-int64(c.above)); c.low == c.high {
			break
		}
	}

	if err := stream.DeleteConsumer(ctx, name); err != nil {
		return c, fmt.Errorf("count messages: %w", err)
	}
	return c, nil
}

// countFrom counts the consumer's messages from a sequence on.
func countFrom(ctx context.Context, stream jetstream.Stream, consumer string, sequence uint64) (uint64, error) {
	reset, err := stream.ResetConsumerToSequence(ctx, consumer, sequence)
	if err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	return reset.NumPending, nil
}
