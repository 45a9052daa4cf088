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

// withBodies fetches the claim checks of messages and calls apply, with as many messages at a time as fit into memory. If
// NATS is not healthy, the messages before the first missing text are applied. A message does not keep its text: the
// batch lasts longer.
func withBodies(ctx context.Context, js jetstream.JetStream, messages []Decoded, apply func([]Decoded) error) error {
	for len(messages) > 0 {
		fitting := messages[:countFitting(messages)]
		ready, fetchErr := fetchBodies(ctx, js, fitting)
		if ready > 0 {
			if err := apply(fitting[:ready]); err != nil {
				return err
			}
		}

		if fetchErr != nil {
			return fetchErr
		}

		dropBodies(fitting)
		messages = messages[len(fitting):]
	}
	return nil
}

// countFitting returns how many of the messages, at least one, have claim-checked bodies that fit into memory together.
func countFitting(messages []Decoded) int {
	var size int64
	for i, m := range messages {
		if transcript, ok := m.Event.State.(*events.Transcript); ok && transcript.Object != nil {
			size += min(transcript.Object.Bytes, events.MaxBodyBytes) // a larger one is not fetched
		}
		if size > maxClaimedBytes && i > 0 {
			return i
		}
	}
	return len(messages)
}

// dropBodies drops the texts of transcripts that have been applied.
func dropBodies(messages []Decoded) {
	for _, m := range messages {
		if transcript, ok := m.Event.State.(*events.Transcript); ok {
			transcript.Text, transcript.Turns = events.Null[string]{}, nil
		}
	}
}

// fetchBodies fetches the claim-checked transcripts of messages. An entry that doesn't exist or doesn't match its claim
// makes its message a dead letter. If NATS is not healthy, an error is returned; ready is the number of messages before the
// first one that lacks its body.
func fetchBodies(ctx context.Context, js jetstream.JetStream, messages []Decoded) (ready int, err error) {
	var transcripts []*events.Transcript
	var claimed []int // the indexes of their messages
	for i, m := range messages {
		if transcript, ok := m.Event.State.(*events.Transcript); ok && m.Reason == "" && transcript.Object != nil {
			transcripts, claimed = append(transcripts, transcript), append(claimed, i)
		}
	}

	invalid, err := events.FetchBodies(ctx, js, transcripts)

	// The loop goes backward, so ready ends at the first message that lacks its body.
	ready = len(messages)
	for j, i := range slices.Backward(claimed) {
		switch {
		case invalid[j] != nil:
			messages[i].Reason = invalid[j].Error()
		case transcripts[j].Object != nil:
			ready = i
		}
	}

	if err != nil {
		return ready, fmt.Errorf("claim check: %w", err)
	}
	return ready, nil
}
