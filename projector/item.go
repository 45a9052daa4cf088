package projector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"callboard/events"
)

// item is one message of a batch: an event, or the reason why it is none.
type item struct {
	message  jetstream.Msg
	sequence uint64
	stored   time.Time
	event    events.Event
	reason   string // of a dead letter; empty: the event can be applied
}

func read(messages []jetstream.Msg) ([]item, error) {
	items := make([]item, len(messages))
	for i, m := range messages {
		meta, err := m.Metadata()
		if err != nil {
			return nil, fmt.Errorf("delivery: %w", err)
		}
		items[i] = item{message: m, sequence: meta.Sequence.Stream, stored: meta.Timestamp}
		items[i].event, err = events.Decode(events.Message{Subject: m.Subject(), Header: m.Headers(), Data: m.Data()})
		if err != nil {
			items[i].reason = err.Error()
		}
	}
	return items, nil
}

// claimedBytes bounds the claim-checked bodies that one transaction holds in memory.
const claimedBytes = 64 << 20

// bodiesThatFit is how many of the items, at least one, bring no more bodies than fit in memory.
func bodiesThatFit(items []item) int {
	var size int64
	for i, it := range items {
		if transcript, ok := it.event.State.(*events.Transcript); ok && transcript.Object != nil {
			size += transcript.Object.Bytes
		}
		if size > claimedBytes && i > 0 {
			return i
		}
	}
	return len(items)
}

// fetchConcurrency is how many claim checks are fetched at a time.
const fetchConcurrency = 8

// fetchBodies brings the transcripts that travelled as claim checks. One that can't be had or isn't what it claims to be is a
// dead letter; one that can't be had now fails the batch.
func (p *partition) fetchBodies(ctx context.Context, items []item) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(fetchConcurrency)
	for i := range items {
		transcript, ok := items[i].event.State.(*events.Transcript)
		if !ok || items[i].reason != "" || transcript.Object == nil {
			continue
		}
		group.Go(func() error {
			err := events.FetchBody(ctx, p.config.JetStream, transcript)
			var invalid *events.InvalidError
			if errors.As(err, &invalid) {
				items[i].reason, err = invalid.Error(), nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("claim check: %w", err)
	}
	return nil
}

func readable(items []item) []events.Event {
	list := make([]events.Event, 0, len(items))
	for _, it := range items {
		if it.reason == "" {
			list = append(list, it.event)
		}
	}
	return list
}
