package status

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

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
			problem += fmt.Sprintf(": %d messages stamped at this host's time", c.Messages)
		}
	case c.Messages > 0:
		problem = fmt.Sprintf("in the last 24 hours the stream's clock was up to %s ahead of a projector's: %d messages stamped at its time",
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
