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
	// claimedBytes bounds the claim-checked bodies that are held in memory at a time.
	claimedBytes = 64 << 20
	// fetchConcurrency is how many claim checks are fetched at a time.
	fetchConcurrency = 8
)

// bodiesThatFit is how many of the items, at least one, bring no more claim-checked bodies than fit in memory.
func bodiesThatFit(items []Item) int {
	var size int64
	for i, it := range items {
		if transcript, ok := it.Event.State.(*events.Transcript); ok && transcript.Object != nil {
			size += transcript.Object.Bytes
		}
		if size > claimedBytes && i > 0 {
			return i
		}
	}
	return len(items)
}

// fetchBodies brings the transcripts that travelled as claim checks. One that can't be had or isn't what it claims to be is a
// dead letter; one that can't be had now is an error.
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
