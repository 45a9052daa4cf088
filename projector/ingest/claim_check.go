package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"callboard/events"
)

const (
	// maxClaimedBytes limits the claim-checked bodies in memory.
	maxClaimedBytes = 64 << 20
	// fetchConcurrency is how many claim checks are fetched at a time.
	fetchConcurrency = 8
)

// forEachPortion fetches the claim checks of items and calls apply, with as many items at a time as fit into memory. An item does not keep its
// text: the batch lasts longer.
func forEachPortion(ctx context.Context, js jetstream.JetStream, items []Item, apply func([]Item) error) error {
	for len(items) > 0 {
		portion := items[:portionSize(items)]
		if err := fetchBodies(ctx, js, portion); err != nil {
			return err
		}
		if err := apply(portion); err != nil {
			return err
		}
		dropBodies(portion)
		items = items[len(portion):]
	}
	return nil
}

// portionSize returns how many of the items, at least one, have claim-checked bodies that fit into memory together.
func portionSize(items []Item) int {
	var size int64
	for i, it := range items {
		if transcript, ok := it.Event.State.(*events.Transcript); ok && transcript.Object != nil {
			size += min(transcript.Object.Bytes, events.MaxBodyBytes) // a larger one is not fetched
		}
		if size > maxClaimedBytes && i > 0 {
			return i
		}
	}
	return len(items)
}

// dropBodies drops the texts of transcripts that have been applied.
func dropBodies(items []Item) {
	for _, it := range items {
		if transcript, ok := it.Event.State.(*events.Transcript); ok {
			transcript.Text, transcript.Turns = events.Null[string]{}, nil
		}
	}
}

// fetchBodies fetches the claim-checked transcripts of items. One that doesn't exist or doesn't match its claim makes its item a dead
// letter; one that can't be fetched now is an error.
func fetchBodies(ctx context.Context, js jetstream.JetStream, items []Item) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(fetchConcurrency)
	for i := range items {
		transcript, ok := items[i].Event.State.(*events.Transcript)
		if !ok || items[i].Reason != "" || transcript.Object == nil {
			continue
		}
		group.Go(func() error {
			err := events.FetchBody(ctx, js, transcript)
			var invalid *events.InvalidError
			if errors.As(err, &invalid) {
				items[i].Reason, err = invalid.Error(), nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("claim check: %w", err)
	}
	return nil
}
