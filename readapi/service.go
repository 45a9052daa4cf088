package readapi

import (
	"context"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"callboard/readapi/access"
	"callboard/readapi/audit"
	"callboard/readapi/limit"
)

// service is the handler.
type service struct {
	routes     *routes
	resources  map[string]resource // by path
	authorizer *access.Authorizer
	limiter    *limit.Limiter
	auditQueue *audit.Queue
	proxies    access.Proxies
	base       string // the base URL
	timeout    time.Duration
	log        zerolog.Logger
	metrics    *metrics
	replies    sync.Pool
}

// exchange is what is known of a request while it is answered, for its headers, its line in the log and its audit entry.
type exchange struct {
	start     time.Time
	requestID string
	operation string
	client    netip.Addr
	system    uuid.UUID // the path's; zero where there is none
	key       uuid.UUID // where one was found
	entry     bool      // a slot in the audit queue is reserved
	budget    *limit.Decision
}

// ServeHTTP answers a request. Nothing is written before the whole answer is known.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{start: time.Now(), requestID: requestID(r.Header)}
	out := s.reply()
	defer s.release(out)
	if res, ok := s.resource(r); ok {
		s.serve(w, r, x, out, res)
		return
	}
	err := s.answer(r, x, out)
	status := http.StatusInternalServerError
	defer func() { s.record(r, x, status, err) }() // whatever becomes of the writing
	status = s.write(w, r, x, out, err)
	abortIfGone(status)
}

// abortIfGone ends a connection without an answer. A client that only closed its own side would otherwise be sent an empty 200.
func abortIfGone(status int) {
	if status == statusClientGone {
		panic(http.ErrAbortHandler)
	}
}

// answer fills the reply, within the time that a request may take.
func (s *service) answer(r *http.Request, x *exchange, out *reply) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value: value, stack: debug.Stack()}
		}
	}()
	ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
	defer cancel()
	o, variables, err := s.routes.find(r)
	if err != nil {
		return err
	}
	x.operation = o.ID
	q, err := s.admit(ctx, r, x, o, variables)
	if err != nil {
		return err
	}
	return o.answer(ctx, q, out)
}

// maxPooled is the size above which a body's buffer is left to the garbage collector, so that one huge transcript does not
// stay in memory for good.
const maxPooled = 1 << 20

func (s *service) reply() *reply {
	if out, ok := s.replies.Get().(*reply); ok {
		return out
	}
	return &reply{body: make([]byte, 0, 32<<10)}
}

func (s *service) release(out *reply) {
	if cap(out.body) <= maxPooled {
		*out = reply{body: out.body[:0]}
		s.replies.Put(out)
	}
}
