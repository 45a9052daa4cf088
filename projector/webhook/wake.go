package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"callboard/events/webhook"
	"callboard/projector/retry"
	"callboard/projector/webhook/fanout"
)

// subscribe makes messages wake the sender. Both subjects are hints: the sender looks at the tables at intervals all the same.
func (s *Sender) subscribe() (unsubscribe func(), err error) {
	var subscriptions []*nats.Subscription
	unsubscribe = func() {
		for _, subscription := range subscriptions {
			if err := subscription.Unsubscribe(); err != nil && !s.config.NATS.IsClosed() {
				s.config.Log.Warn().Err(err).Str("subject", subscription.Subject).Msg("unsubscribing failed")
			}
		}
	}
	for subject, handle := range map[string]nats.MsgHandler{
		webhook.WakeSubject: func(*nats.Msg) { s.notify() },
		webhook.DueSubject:  func(m *nats.Msg) { s.lookAt(decodeShards(m.Data)) },
	} {
		subscription, err := s.config.NATS.Subscribe(subject, handle)
		if err != nil {
			unsubscribe()
			return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
		}
		subscriptions = append(subscriptions, subscription)
	}
	return unsubscribe, nil
}

func (s *Sender) notify() {
	select {
	case s.wake <- struct{}{}:
	default: // a wake-up is waiting already
	}
}

// lookAt makes the dispatcher look for deliveries of shards. A hint that finds no room is dropped.
func (s *Sender) lookAt(shards []int16) {
	select {
	case s.due <- shards:
	default:
	}
}

// fanOut fans notices out until ctx ends.
func (s *Sender) fanOut(ctx context.Context) {
	f := fanout.New(s.config.Database, s.config.Gate)
	poll := time.NewTicker(s.config.Poll)
	defer poll.Stop()
	for backOff := retry.NewBackOff(); ctx.Err() == nil; {
		if err := s.fanOutAll(ctx, f); err != nil && ctx.Err() == nil {
			wait := backOff.Next(0)
			s.config.Log.Error().Err(err).Dur("retry_in", wait).Msg("fan-out failed")
			retry.Pause(ctx, wait)
			continue
		}
		backOff.Reset()
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-poll.C:
		}
	}
}

// fanOutAll takes steps until no released notice is left.
func (s *Sender) fanOutAll(ctx context.Context, f *fanout.FanOut) error {
	for more := true; more; {
		result, err := step(ctx, f)
		if err != nil {
			return err
		}
		more = result.More
		s.metrics.skipped.WithLabelValues(reasonNoPhoneSystem).Add(float64(result.Skipped))
		if len(result.Shards) > 0 {
			s.publishDueShards(result.Shards)
		}
	}
	return nil
}

// step takes one step, in a limited time.
func step(ctx context.Context, f *fanout.FanOut) (fanout.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	return f.Step(ctx)
}

// publishDueShards tells this sender and the others which shards got deliveries. Without NATS the others find them at their next look.
func (s *Sender) publishDueShards(shards []int16) {
	s.lookAt(shards)
	if err := s.config.NATS.Publish(webhook.DueSubject, encodeShards(shards)); err != nil {
		s.config.Log.Debug().Err(err).Msg("publishing due shards failed")
	}
}

// encodeShards writes a byte for each shard.
func encodeShards(shards []int16) []byte {
	data := make([]byte, len(shards))
	for i, shard := range shards {
		data[i] = byte(shard) // below 64
	}
	return data
}

func decodeShards(data []byte) []int16 {
	shards := make([]int16, 0, min(len(data), shardCount))
	for _, b := range data[:min(len(data), shardCount)] {
		shards = append(shards, int16(b))
	}
	return shards
}
