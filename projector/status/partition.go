package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

// Partition is how one partition stands.
type Partition struct {
	Partition  int        `json:"partition"`
	Head       uint64     `json:"head"`       // the sequence of its last message
	Position   uint64     `json:"position"`   // up to which it is in the tables
	LagEvents  uint64     `json:"lagEvents"`  // its messages above the position; of a faulty partition they say nothing
	LagSeconds float64    `json:"lagSeconds"` // the age of the oldest of them
	Watermark  *time.Time `json:"watermark"`  // everything stored before is in the tables
	Owner      *string    `json:"owner"`      // the application name of the projector that has it
	StopReason string     `json:"stopReason,omitempty"`
	stopDetail string     // what happened, and what to do

	// Messages is how many the stream holds up to the position. It is null where that can't be held against the ledger: of a
	// faulty partition, and of a generation that keeps none.
	Messages      *int64         `json:"messages"`
	Read          *int64         `json:"read"`    // by the ledger; null where none is kept
	Missing       int64          `json:"missing"` // Messages less Read: not 0, it is a defect
	MessageCounts []MessageCount `json:"-"`       // the ledger's lines; nil where none is kept
}

const (
	looks    = 3
	lookWait = 250 * time.Millisecond
)

// measure asks the stream. Where the ledger disagrees it looks again before it says so: the server that counts may be a moment
// behind the position.
func (p *Partition) measure(ctx context.Context, stream jetstream.Stream, now time.Time) error {
	for look := range looks {
		if look > 0 {
			if err := pause(ctx, lookWait); err != nil {
				return err
			}
		}
		if err := p.look(ctx, stream, now); err != nil {
			return err
		}
		if p.Missing == 0 {
			break
		}
	}
	return nil
}

func (p *Partition) look(ctx context.Context, stream jetstream.Stream, now time.Time) error {
	filter := events.PartitionFilter(p.Partition)
	last, err := stream.GetLastMsgForSubject(ctx, filter)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		p.account(counted{})
		return nil
	}
	if err != nil {
		return fmt.Errorf("head: %w", err)
	}
	c, err := count(ctx, stream, filter, p.Position)
	if err != nil {
		return err
	}
	p.account(c)
	if p.Head = last.Sequence; p.Head <= p.Position {
		return nil
	}
	p.LagEvents = c.above
	next, err := stream.GetMsg(ctx, p.Position+1, jetstream.WithGetMsgSubject(filter))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil // by a replica that lags, where those may answer
	}
	if err != nil {
		return fmt.Errorf("oldest: %w", err)
	}
	p.LagSeconds = max(now.Sub(next.Time).Seconds(), 0)
	return nil
}

// account holds what the stream has up to the position against the ledger.
func (p *Partition) account(c counted) {
	if p.Read == nil || p.StopReason != "" {
		return
	}
	messages := c.closest(*p.Read)
	p.Messages, p.Missing = &messages, messages-*p.Read
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
