package projector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// item is one message of a batch: an event, or the reason why it is none.
type item struct {
	message  jetstream.Msg
	sequence uint64
	stored   time.Time
	event    events.Event
	reason   string // of a dead letter; empty: the event can be applied
}

// applyTimeout bounds the work on one batch, a stop of the projector included.
const applyTimeout = 2 * time.Minute

// apply commits a batch, whatever is in it. A batch that was begun is finished although ctx ends.
func (p *partition) apply(ctx context.Context, messages []jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
	defer cancel()
	items, err := read(messages)
	if err != nil {
		return err
	}
	for len(items) > 0 {
		portion := items[:bodiesThatFit(items)]
		if err := p.fetchBodies(ctx, portion); err != nil {
			return err
		}
		if err := p.commit(ctx, portion); err != nil {
			return err
		}
		items = items[len(portion):]
	}
	if err := messages[len(messages)-1].Ack(); err != nil {
		// The position is committed, and a lost acknowledgement costs nothing but a lag shown too high.
		p.log.Debug().Err(err).Msg("acknowledge")
	}
	return nil
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

// commit writes items in one transaction. Where Postgres refuses the data, it halves them until the one at fault is alone.
func (p *partition) commit(ctx context.Context, items []item) error {
	began := time.Now()
	err := p.transact(ctx, items)
	if err == nil {
		p.metrics.commits.WithLabelValues(label(p.number)).Observe(time.Since(began).Seconds())
		return nil
	}
	if !store.Refused(err) || len(items) == 1 && items[0].reason != "" {
		return err
	}
	if len(items) == 1 {
		items[0].reason = store.Reason(err)
		return p.commit(ctx, items)
	}
	half := len(items) / 2
	if err := p.commit(ctx, items[:half]); err != nil {
		return err
	}
	return p.commit(ctx, items[half:])
}

func (p *partition) transact(ctx context.Context, items []item) error {
	var change store.Commit
	var tally tally
	err := p.store.Batch(ctx, func(tx *store.Tx) error {
		state, err := tx.Load(ctx, p.position.Partition, readable(items))
		if err != nil {
			return err
		}
		change, tally = p.foldAll(state, items)
		return tx.Commit(ctx, change)
	})
	if err != nil {
		return err
	}
	p.moved(change.To)
	tally.count(p.metrics)
	for _, letter := range change.DeadLetters {
		p.metrics.deadLetters.WithLabelValues(label(p.number)).Inc()
		p.log.Warn().Uint64("sequence", letter.Sequence).Str("reason", letter.Reason).Msg("dead letter")
	}
	return nil
}

// foldAll applies items in order to the rows that they touch.
func (p *partition) foldAll(state *fold.State, items []item) (store.Commit, tally) {
	c := store.Commit{From: p.position, To: p.position, State: state}
	tally := make(tally)
	for _, it := range items {
		stored := events.TimeOf(it.stored)
		if lift := c.To.Clock.Advance(it.sequence, stored, p.lifts); lift != nil {
			c.Lifts = append(c.Lifts, *lift)
		}
		reason := it.reason
		if reason == "" {
			outcome, err := state.Fold(it.event, c.To.Clock.Now)
			if err != nil {
				reason = err.Error()
			} else {
				tally[tallied{it.event.Entity, outcome}]++
			}
		}
		if reason != "" {
			c.DeadLetters = append(c.DeadLetters, it.deadLetter(reason))
		}
		c.To.Sequence = it.sequence
	}
	c.To.Clock.Publish(c.To.Clock.Now)
	return c, tally
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

func (it item) deadLetter(reason string) store.DeadLetter {
	return store.DeadLetter{
		Sequence: it.sequence,
		Subject:  printable(it.message.Subject()),
		Header:   wire(it.message.Headers()),
		Data:     it.message.Data(),
		Reason:   printable(reason),
		StoredAt: it.stored,
	}
}

// wire is a header as it travels in the NATS protocol.
func wire(h nats.Header) []byte {
	var b bytes.Buffer
	b.WriteString("NATS/1.0\r\n")
	for key, values := range h {
		for _, value := range values {
			b.WriteString(key + ": " + value + "\r\n")
		}
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// printable is s where PostgreSQL can keep it as text, and s in quotes with escapes where it can't.
func printable(s string) string {
	if valid := strings.ToValidUTF8(s, ""); valid == s && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strconv.QuoteToASCII(s)
}
