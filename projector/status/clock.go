package status

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
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
		return []string{"watermarks do not pass " + r.LastWatermark.UTC().Format(time.RFC3339) +
			": a rebuild from another stream is unfinished: " +
			"finish it with 'callboard rebuild', or drop it with 'callboard rebuild --abandon'"}

	case r.StreamProblem != "":
		return nil // what is missing may not have been read
	case !r.owned():
		// Without a projector, no clock message is expected.
		return nil

	case r.ClockAgeSeconds == nil:
		return []string{"the stream has no clock message although a projector runs: see its log"}
	case *r.ClockAgeSeconds > maxClockAge.Seconds():
		return []string{fmt.Sprintf("the newest clock message is %.0f s old although a projector runs: see its log",
			*r.ClockAgeSeconds)}
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

const (
	// maxClockAhead is how far the stream's clock may be ahead of this host's. Both differ a little on hosts that are
	// synchronized.
	maxClockAhead = 10 * time.Second
	// maxWatermarkAhead is how far a watermark may be ahead of this host's clock.
	maxWatermarkAhead = 5 * time.Second
)

// ClockAhead is how far the clock of the stream's server is ahead, and was.
type ClockAhead struct {
	Seconds       float64 `json:"seconds"`       // ahead of this host's clock, rounded; negative: behind
	Messages      int64   `json:"messages"`      // of the last 24 hours, that count as stored at a projector's time instead of the stream's
	CappedSeconds float64 `json:"cappedSeconds"` // how far ahead of it the stream stored them at most
}

//go:embed clock_caps.sql
var clockCapsSQL string

// readCaps reads what projectors have recorded in the last 24 hours.
func (c *ClockAhead) readCaps(ctx context.Context, pool *pgxpool.Pool) error {
	if err := pool.QueryRow(ctx, clockCapsSQL).Scan(&c.Messages, &c.CappedSeconds); err != nil {
		return fmt.Errorf("clock caps: %w", err)
	}
	return nil
}

func (c ClockAhead) problems() []string {
	is := c.Seconds > maxClockAhead.Seconds()
	var problem string

	switch {
	case is:
		problem = fmt.Sprintf("the stream's clock is %s ahead of this host's", seconds(c.Seconds))
		if c.Messages > 0 {
			problem += fmt.Sprintf(": %d messages stamped at a projector's time", c.Messages)
		}

	case c.Messages > 0:
		// The clocks agree again, but the messages keep the times that they got.
		problem = fmt.Sprintf("in the last 24 hours the stream's clock was up to %s ahead of a projector's: "+
			"%d messages stamped at its time",
			seconds(c.CappedSeconds), c.Messages)

	default:
		return nil
	}

	return []string{problem}
}

// seconds returns a duration in whole seconds, as text.
func seconds(n float64) string {
	return time.Duration(n * float64(time.Second)).Round(time.Second).String()
}

// oldestWatermarkSQL compares with the clock that readers compare with.
const oldestWatermarkSQL = `
	select greatest(extract(epoch from clock_timestamp() - min(watermark)), 0)::float8
	from projection.position
	having count(*) > 0`

// OldestWatermarkAge returns how far the watermark that is furthest behind is behind the database's clock. It is one
// small statement and does not read the stream. The error is pgx.ErrNoRows where no partition has a position.
func OldestWatermarkAge(ctx context.Context, pool *pgxpool.Pool) (time.Duration, error) {
	var seconds float64
	if err := pool.QueryRow(ctx, oldestWatermarkSQL).Scan(&seconds); err != nil {
		return 0, fmt.Errorf("watermarks: %w", err)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}
