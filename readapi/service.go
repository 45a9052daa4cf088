package readapi

import (
	"context"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"callboard/readapi/access"
	"callboard/readapi/auditqueue"
	"callboard/readapi/limit"
	"callboard/readapi/query"
)

// service is the HTTP handler.
type service struct {
	routes       *routes
	publicRoutes map[string]publicRoute // by path
	projection   *query.Projection
	authorizer   *access.Authorizer
	limiter      *limit.Limiter
	auditQueue   *auditqueue.Queue
	memory       *memory
	compressor   *compressor
	proxies      access.Proxies
	base         string // the base URL
	timeout      time.Duration
	slowGrace    time.Duration // after which a slow client is cut off
	maxAge       time.Duration // of a group's or an organization's coverage; zero: any
	now          func() time.Time
	log          zerolog.Logger
	metrics      *metrics
	buffers      sync.Pool // of *[]byte, for bodies
}

// exchange is what is known of a request while it is served: for its headers, its log line and its audit entry.
type exchange struct {
	start     time.Time
	requestID string
	operation string
	client    netip.Addr
	system    uuid.UUID       // the path's; zero: none
	keyID     uuid.UUID       // zero: no key was found
	lineage   uuid.UUID       // of the key
	audited   bool            // made with the key's secret
	reserved  bool            // the audit queue has reserved a place for the entry
	decision  *limit.Decision // nil: not checked
	memory    *reservation
	cut       cutReason // empty: the response was written to its end
}

// ServeHTTP serves a request. It writes nothing before the whole response is known.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{start: time.Now(), requestID: requestID(r.Header)}
	out := new(reply)
	defer s.release(x, out)

	s.metrics.inFlight.Inc()
	defer s.metrics.inFlight.Dec()

	if e, ok := s.publicRoute(r); ok && headerLines(r.Header) <= maxHeaderLines {
		s.servePublic(w, r, x, out, e)
		return
	}

	// A response holds the memory that it takes until its last byte is written.
	err := s.handle(r, x, out)
	if err == nil && x.memory != nil {
		x.memory.shrink(int64(cap(out.body)))
	}

	status := http.StatusInternalServerError
	defer func() { s.record(r, x, out, status, err) }() // also if the write panics
	status = s.write(w, r, x, out, err)
	abortIfGone(status)
}

// abortIfGone closes the connection without a response. Otherwise net/http would send an empty 200, which a client that
// has closed only its sending side receives.
func abortIfGone(status int) {
	if status == statusClientGone {
		panic(http.ErrAbortHandler)
	}
}

// handle fills the reply, within the request's timeout.
func (s *service) handle(r *http.Request, x *exchange, out *reply) (err error) {
	defer recovered(&err)

	// Header lines take memory while a request waits, so they are counted first.
	if headerLines(r.Header) > maxHeaderLines {
		return &problem{code: validationFailed, errors: []fieldProblem{
			{"", tooLong, "The request has more than " + strconv.Itoa(maxHeaderLines) + " header lines; send fewer."},
		}}
	}

	ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
	defer cancel()

	o, variables, err := s.routes.find(r)
	if err != nil {
		// The response is the same with every key and without one. The audit has the request if its key is valid.
		_, _ = s.authorize(ctx, r, x)
		return err
	}

	x.operation = o.ID
	q, err := s.admit(ctx, r, x, o, variables)
	if err != nil {
		return err
	}

	if err := o.handle(ctx, q, out); err != nil {
		return err
	}

	// The body is larger than what was reserved, and its size is known now.
	if out.leftOut > 0 && out.size() <= maxBody {
		s.release(x, out)
		q.large = true
		if err := o.handle(ctx, q, out); err != nil {
			return err
		}
	}

	if size := out.size(); size > maxBody {
		return o.tooLarge(size)
	}
	return s.compressor.compress(r, out)
}

// maxHeaderLines bounds the memory of a request that waits: thousands of short header lines take 30 times their bytes.
const maxHeaderLines = 64

func headerLines(header http.Header) (lines int) {
	for _, values := range header {
		lines += len(values)
	}
	return lines
}

const requestIDHeader = "X-Request-Id"

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// requestID is the inbound request id if it is well formed, otherwise a new one. Request ids are logged and sent back,
// so an inbound one that contains a key, sent in the wrong header by mistake, is replaced.
func requestID(header http.Header) string {
	if id := header.Get(requestIDHeader); requestIDForm.MatchString(id) && !strings.Contains(id, access.KeyPrefix) {
		return id
	}
	return uuid.NewString()
}
