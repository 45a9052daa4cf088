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

	// pauseFactor bounds the console's load on the servers: after a report that took a second to read, it reads none for ten.
	pauseFactor = 10
	maxPause    = 30 * time.Second

	readTimeout  = 5 * time.Second
	probeTimeout = time.Second

	shownDeadLetters = 100
	shownReasons     = 20
	shownDataBytes   = 2 << 10
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
	before      *status.Report // the report before; nil: none
	deadLetters deadletter.Overview
	readAt      time.Time
	failure     *failure
}

// get returns the last report, and reads it again if it is older than maxAge.
func (c *cache) get(ctx context.Context, maxAge time.Duration) snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.failure != nil {
		maxAge = minReportAge // the server may be back
	}
	if time.Since(c.tried) >= max(maxAge, min(pauseFactor*c.took, maxPause)) {
		c.read(ctx)
		c.tried = time.Now()
	}
	return c.last
}

func (c *cache) read(ctx context.Context) {
	readCtx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	began := time.Now()
	var report status.Report
	overview, err := deadletter.ReadOverview(readCtx, c.source.Pool, shownDeadLetters, shownDataBytes)
	if err == nil {
		report, err = c.source.Read(readCtx) // last: while NATS does not answer, it takes all the time that is left
	}
	if err != nil {
		c.last.failure, c.took = c.explain(ctx, err), 0
		return
	}
	c.took = time.Since(began)
	c.last = snapshot{report: &report, before: c.last.report, deadLetters: overview, readAt: time.Now()}
}

// failure is why a report could not be read.
type failure struct {
	postgres error // why the server can't be reached, or nil
	cause    error // of the report
}

func (f *failure) String() string {
	if f.postgres != nil {
		return "PostgreSQL can't be reached: " + oneLine(f.postgres)
	}
	return "the report could not be read: " + oneLine(f.cause)
}

// oneLine joins the lines of an error: pgx has one for each address that it tried.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// explain finds out whether the server is the cause of an error.
func (c *cache) explain(ctx context.Context, err error) *failure {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return &failure{postgres: c.source.Pool.Ping(ctx), cause: err}
}
