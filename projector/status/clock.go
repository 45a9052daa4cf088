package status

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

//go:embed last_watermark.sql
var lastWatermarkSQL string

// maxClockAge is the age of the newest clock message from which on something is wrong: ten seconds more than the
// longest interval between two.
const maxClockAge = 70 * time.Second

// readClock reads what the stream says about clock messages.
func (r *Report) readClock(ctx context.Context, js jetstream.JetStream, info *jetstream.StreamInfo) error {
	newest, err := events.LastMessage(ctx, js, r.Stream, events.ClockSubject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("clock message: %w", err)
	}
	age := max(info.TimeStamp.Sub(newest.StoredAt), 0).Seconds()
	r.ClockAgeSeconds = &age
	return nil
}

// clockProblems returns why watermarks don't move, or only with events.
func (r Report) clockProblems() []string {
	switch {
	case r.LastWatermark != nil:
		return []string{"watermarks do not pass " + r.LastWatermark.UTC().Format(time.RFC3339) + ": a rebuild from another stream is unfinished: " +
			"finish it with 'callboard rebuild', or drop it with 'callboard rebuild --abandon'"}
	case r.StreamProblem != "":
		return nil // what is missing may not have been read
	case !r.owned():
		return nil
	case r.ClockAgeSeconds == nil:
		return []string{"the stream has no clock message although a projector runs: see its log"}
	case *r.ClockAgeSeconds > maxClockAge.Seconds():
		return []string{fmt.Sprintf("the newest clock message is %.0f s old although a projector runs: see its log", *r.ClockAgeSeconds)}
	}
	return nil
}

// owned tells whether any partition has an owner.
func (r Report) owned() bool {
	for _, p := range r.Partitions {
		if p.Owner != nil {
			return true
		}
	}
	return false
}
