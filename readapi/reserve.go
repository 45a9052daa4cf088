package readapi

import (
	"context"
	"fmt"

	"callboard/readapi/memory"
)

// The memory that a request reserves before its first statement. It is corrected when the response's size is known.
const (
	transcribedPageBytes   int64 = 14 << 20 // a report page with transcripts: the body, and its rows as PostgreSQL sends them
	transcribedDetailBytes int64 = 2 << 20
	plainBytes             int64 = 256 << 10
)

// defaultBodyMemory is the memory for all responses.
const defaultBodyMemory = 192 << 20

// noRoomRetryAfter is sent when there is no memory for a response, in seconds.
const noRoomRetryAfter = 1

// prepare reports the problems of the parameters, or reserves memory. After it, a handler runs its statements.
func (q *request) prepare(ctx context.Context, bytes int64) error {
	if err := q.parameters.err(); err != nil {
		return err
	}
	return q.reserve(ctx, bytes)
}

// reserveMemory reserves memory for a response. The wait leaves two fifths of the request's time for its answer. A request that finds no
// room is as if it had never had a permit: the permit is given back, and the audit counts the request.
func (s *service) reserveMemory(ctx context.Context, x *exchange, bytes int64) error {
	reserved, err := s.memory.Reserve(ctx, x.lineage, bytes, x.start.Add(s.timeout*3/5))
	switch {
	case err == nil:
		x.memory = reserved
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("wait for memory: %w", err)
	}
	x.decision.GiveBack()
	s.releaseEntry(x)
	return &problem{code: serviceUnavailable, retryAfter: noRoomRetryAfter, cause: err}
}

// resizeMemory corrects the reservation to what the reply's buffer takes.
func (x *exchange) resizeMemory(out *reply) {
	if x.memory != nil {
		x.memory.Resize(int64(cap(out.body)))
	}
}

func (x *exchange) releaseMemory() {
	if x.memory != nil {
		x.memory.Release()
	}
}

func newMemory(c Config) (*memory.Pool, error) {
	return memory.New(memory.Config{Capacity: c.BodyMemory, Largest: transcribedPageBytes, Metrics: c.Metrics})
}
