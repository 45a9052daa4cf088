package readapi

import (
	"context"
	"fmt"

	"callboard/readapi/encode"
)

// A request reserves memory before its first statement and before anything of its body is made, problems of parameters
// included. With the small reservation, a body has smallRoom. A larger body is only counted, and read again with the
// large reservation.
const (
	smallBytes int64 = 3 << 19  // 1.5 MiB; sixteen are a lineage's share of the usual memory
	smallRoom        = 1 << 20  // a buffer that grows takes more than its body
	largeBytes int64 = 14 << 20 // the largest body, and its rows as PostgreSQL sends them
)

// newBuffer is the size of a new buffer for a body. Those up to smallRoom are used again.
const newBuffer = 32 << 10

// maxBody is the size limit of a response, in bytes as sent without a content coding.
const maxBody = 5_500_000

// defaultBodyMemory is the memory for all responses.
const defaultBodyMemory = 192 << 20

// noRoomRetryAfter is sent when there is no memory for a response, in seconds.
const noRoomRetryAfter = 1

// prepare reserves memory, and reports the problems of the parameters. After it, a handler runs its statements.
func (q *request) prepare(ctx context.Context, out *reply) error {
	if err := q.reserve(ctx, out); err != nil {
		return err
	}
	return q.parameters.err()
}

// room is the size of the largest body that the request's memory suffices for.
func (q *request) room() int {
	if q.large {
		return maxBody
	}
	return smallRoom
}

// rows returns a writer that appends rows to the body, as far as the request's memory suffices.
func (q *request) rows(row *encode.Layout, body []byte) *encode.RowWriter {
	rows := encode.NewRowWriter(row, q.system, body)
	rows.Room = q.room()
	return rows
}

// reserve reserves memory for a response, and gives the reply a buffer. The wait leaves a fifth of the request's time
// for its answer. A request that finds no room has used its permit, and is counted by the audit.
func (q *request) reserve(ctx context.Context, out *reply) error {
	s, x, bytes := q.service, q.exchange, smallBytes
	if q.large {
		bytes = largeBytes
	}

	reserved, err := s.memory.reserve(ctx, x.lineage, bytes, x.start.Add(s.timeout*4/5))
	switch {
	case err == nil:
		x.memory, out.body = reserved, s.buffer()
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("wait for memory: %w", err)
	}

	s.releaseEntry(x)
	return &problem{code: serviceUnavailable, retryAfter: noRoomRetryAfter, cause: err}
}

// release gives the reply's buffer and the reserved memory back, if there are any.
func (s *service) release(x *exchange, out *reply) {
	if c := cap(out.body); c >= newBuffer && c <= smallRoom {
		body := out.body[:0]
		s.buffers.Put(&body)
	}
	*out = reply{}
	if x.memory != nil {
		x.memory.release()
		x.memory = nil
	}
}

// buffer returns an empty buffer for a body.
func (s *service) buffer() []byte {
	if body, ok := s.buffers.Get().(*[]byte); ok {
		return *body
	}
	return make([]byte, 0, newBuffer)
}
