package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ClockSubject is the subject of clock messages. They are in no partition, and their subject is stored as it is published. A clock message that
// was delivered proves that every message below it was delivered or is in another partition: no answer about a stream proves that.
const ClockSubject = subjectRoot + ".clock"

// PublishClock publishes a clock message, which follows the clock message with a sequence; 0: none is known. Several publishers that follow the
// same message store one within [DuplicateWindow], whatever their clocks say. attempt counts the attempts that failed: after an election, a leader
// can refuse to answer for an ID that it has seen. The error is [jetstream.ErrNoStreamResponse] if the stream takes no clock messages.
func PublishClock(ctx context.Context, js jetstream.JetStream, after uint64, attempt int) (*jetstream.PubAck, error) {
	m := nats.NewMsg(ClockSubject)
	m.Header.Set(jetstream.MsgIDHeader, fmt.Sprintf("clock/%d/%d", after, attempt))
	// For people who look at the stream: the publisher's clock in milliseconds.
	m.Data = strconv.AppendInt(nil, time.Now().UnixMilli(), 10)
	return js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
}

// TakesClock tells whether a stream stores clock messages. A mirror has those of its origin.
func TakesClock(cfg jetstream.StreamConfig) bool {
	return cfg.Mirror != nil || slices.Contains(cfg.Subjects, ClockSubject)
}

// AddClock makes a stream of the previous release store clock messages, and reports whether it had to change the stream.
func AddClock(ctx context.Context, js jetstream.JetStream, name string) (added bool, err error) {
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return false, fmt.Errorf("stream %s: %w", name, err)
	}
	config := stream.CachedInfo().Config
	if TakesClock(config) {
		return false, nil
	}
	if Closed(config) {
		return false, errors.New(closedError(name))
	}
	config.Subjects = append(slices.Clone(config.Subjects), ClockSubject)
	if _, err := js.UpdateStream(ctx, config); err != nil {
		return false, fmt.Errorf("stream %s: %w", name, err)
	}
	return true, nil
}
