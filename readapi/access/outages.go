package access

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/schema"
)

// ErrNodeDown means that the node of a partition has just failed to answer.
var ErrNodeDown = errors.New("the node of the phone system's partition does not answer")

const (
	// nodeTimeout is the longest time that a node may take to say what a key covers.
	nodeTimeout = 2 * time.Second

	// outagePause is for how long a partition is not read after its node has failed.
	outagePause = time.Second
)

// outages remembers the partitions whose nodes did not answer. If each request for them waited, they would hold all
// connections, which requests for the partitions of other nodes need. Its zero value is ready to use, and safe for
// concurrent use.
type outages struct {
	mu      sync.Mutex
	until   map[int16]time.Time
	probing bool // a request finds out whether such a partition's node is back; one at a time
}

// read runs statements about a partition, for as long as nodeTimeout. It returns [ErrNodeDown] at once while the
// partition has an outage.
func (o *outages) read(ctx context.Context, partition int16, run func(context.Context) error) error {
	probe, ok := o.enter(partition)
	if !ok {
		return ErrNodeDown
	}

	limited, cancel := context.WithTimeout(ctx, nodeTimeout)
	defer cancel()

	// A client that leaves, or a request whose own time ends, says nothing about the node. Nor does a panic, which ends
	// a probe, too.
	failed, answered := false, false
	defer func() { o.leave(partition, probe, failed, answered) }()
	err := run(limited)
	failed, answered = ctx.Err() == nil && nodeFailed(err), err == nil || errors.Is(err, pgx.ErrNoRows)
	return err
}

func nodeFailed(err error) bool {
	var refused *pgconn.PgError
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &refused) && schema.IsNodeFailure(refused)
}

// enter tells whether a request may read a partition, and whether it is the request that probes an outage.
func (o *outages) enter(partition int16) (probe, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	until, out := o.until[partition]
	if !out {
		return false, true
	}
	if o.probing || time.Now().Before(until) {
		return false, false
	}
	o.probing = true
	return true, true
}

// leave begins an outage where the node failed, and ends it where the node answered. Other errors say neither: that a
// client has left, for example.
func (o *outages) leave(partition int16, probe, failed, answered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if probe {
		o.probing = false
	}

	switch {
	case failed:
		if o.until == nil {
			o.until = make(map[int16]time.Time)
		}
		o.until[partition] = time.Now().Add(outagePause)
	case answered:
		delete(o.until, partition)
	}
}
