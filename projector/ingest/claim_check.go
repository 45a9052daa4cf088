package ingest

import (
	"context"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

// maxClaimedBytes limits the claim-checked bodies in memory.
const maxClaimedBytes = 64 << 20

// forEachPortion fetches the claim checks of items and calls apply, with as many items at a time as fit into memory. If
// NATS is not healthy, the items before the first missing text are applied. An item does not keep its text: the batch
// lasts longer.
func forEachPortion(ctx context.Context, js jetstream.JetStream, items []Decoded, apply func([]Decoded) error) error {
	for len(items) > 0 {
		portion := items[:portionSize(items)]
		ready, fetchErr := fetchBodies(ctx, js, portion)
		if ready > 0 {
			if err := apply(portion[:ready]); err != nil {
				return err
			}
		}
		if fetchErr != nil {
			return fetchErr
		}
		dropBodies(portion)
		items = items[len(portion):]
	}
	return nil
}

// portionSize returns how many of the items, at least one, have claim-checked bodies that fit into memory together.
func portionSize(items []Decoded) int {
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
func dropBodies(items []Decoded) {
	for _, it := range items {
		if transcript, ok := it.Event.State.(*events.Transcript); ok {
			transcript.Text, transcript.Turns = events.Null[string]{}, nil
		}
	}
}

// fetchBodies fetches the claim-checked transcripts of items. An entry that doesn't exist or doesn't match its claim
// makes its item a dead letter. If NATS is not healthy, an error is returned; ready is the number of items before the
// first one that lacks its body.
func fetchBodies(ctx context.Context, js jetstream.JetStream, items []Decoded) (ready int, err error) {
	var transcripts []*events.Transcript
	var claimed []int // the indexes of their items
	for i, it := range items {
		if transcript, ok := it.Event.State.(*events.Transcript); ok && it.Reason == "" && transcript.Object != nil {
			transcripts, claimed = append(transcripts, transcript), append(claimed, i)
		}
	}

	invalid, err := events.FetchBodies(ctx, js, transcripts)
	ready = len(items)
	for j, i := range slices.Backward(claimed) {
		switch {
		case invalid[j] != nil:
			items[i].Reason = invalid[j].Error()
		case transcripts[j].Object != nil:
			ready = i
		}
	}
	if err != nil {
		return ready, fmt.Errorf("claim check: %w", err)
	}
	return ready, nil
}
