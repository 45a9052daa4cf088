package console

import (
	"context"
	"strings"
	"sync"
	"time"

	"callboard/projector/deadletter"
	"callboard/projector/status"
)

const (
	// minReportAge is the age at which a page load reads the report again.
	minReportAge = 2 * time.Second

	// pauseFactor bounds the console's load on the servers: after a report that took a second to read, it reads none for
	// ten.
	pauseFactor = 10
	maxPause    = 30 * time.Second

	readTimeout      = 5 * time.Second
	shownDeadLetters = 100
)

// cache holds the last report.
type cache struct {
	source status.Source

	mu    sync.Mutex // held while a report is read, so that concurrent page loads share it
	last  snapshot
	tried time.Time     // when the last attempt to read a report ended
	took  time.Duration // the time that the last report took
}

// snapshot is the last report that could be read and, where a later attempt failed, why.
type snapshot struct {
	report      *status.Report // nil: none could be read since the program started
	deadLetters []deadletter.DeadLetter
	readAt      time.Time
	failure     string // empty: the last attempt succeeded
}

// get returns the last report, and reads it again if it is older than maxAge.
func (c *cache) get(ctx context.Context, maxAge time.Duration) snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.last.failure != "" {
		maxAge = minReportAge // the server may be back
	}
	if time.Since(c.tried) >= max(maxAge, min(pauseFactor*c.took, maxPause)) {
		c.read(ctx)
		c.tried = time.Now()
	}
	return c.last
}

func (c *cache) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	began := time.Now()

	// The report comes last: while NATS does not answer, it takes all the time that is left.
	var report status.Report
	letters, err := deadletter.Newest(ctx, c.source.Pool, shownDeadLetters)
	if err == nil {
		report, err = c.source.Read(ctx)
	}
	if err != nil {
		// pgx has a line for each address that it tried.
		c.last.failure, c.took = strings.Join(strings.Fields(err.Error()), " "), 0
		return
	}

	c.took = time.Since(began)
	c.last = snapshot{report: &report, deadLetters: letters, readAt: time.Now()}
}
