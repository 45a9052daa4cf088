package fault_test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/events/webhook"
)

// receiver answers the requests of senders.
type receiver struct {
	tb        testing.TB
	server    *httptest.Server
	authority string // the file of the certificate of its authority

	requests atomic.Int64
	aborted  atomic.Int64 // the sender ended before the answer

	mu        sync.Mutex
	endpoints map[string]*endpoint // by path
	hold      *hold                // nil: requests are answered after up to 20 ms
}

// hold is of requests that wait for their answers.
type hold struct {
	release chan time.Time // closed when they are answered
	waiting map[*endpoint]int
}

// endpoint is what a path of the receiver has got.
type endpoint struct {
	id, system uuid.UUID
	path       string
	secret     webhook.Secret

	bodies      map[string]string // by the event's id
	repeated    int               // requests whose event it had
	maxRepeated int               // that the faults so far explain
}

// check checks that the endpoint has got the events with these ids and kinds and no other.
func (e *endpoint) check(tb testing.TB, fired map[string]webhook.Kind) {
	tb.Helper()
	lost := 0
	for id, kind := range fired {
		body, ok := e.bodies[id]
		switch {
		case !ok:
			lost++
		case !strings.HasPrefix(body, `{"type":"`+string(kind)+`",`):
			tb.Errorf("endpoint %s: body of %s = %s, want type %s", e.path, id, body, kind)
		}
	}
	if lost > 0 || len(e.bodies) != len(fired) {
		tb.Errorf("endpoint %s: events = %d, lost = %d; want all %d and no other", e.path, len(e.bodies), lost, len(fired))
	}
	if e.repeated > e.maxRepeated {
		tb.Errorf("endpoint %s: repeated requests = %d, want at most %d", e.path, e.repeated, e.maxRepeated)
	}
	tb.Logf("endpoint %s: %d events, %d requests repeated of %d at most", e.path, len(e.bodies), e.repeated, e.maxRepeated)
}

func newReceiver(tb testing.TB) *receiver {
	tb.Helper()
	authority := eventstest.NewCertificateAuthority(tb)
	r := &receiver{tb: tb, authority: filepath.Join(tb.TempDir(), "ca.pem"), endpoints: map[string]*endpoint{}}
	if err := os.WriteFile(r.authority, authority.PEM(), 0o600); err != nil {
		tb.Fatal(err)
	}
	// Senders are killed in handshakes.
	r.server = eventstest.StartTLS(tb, r, eventstest.WithCertificate(authority.KeyPair(tb)), eventstest.WithHTTP2)
	return r
}

func (r *receiver) add(e *endpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endpoints[e.path] = e
}

// events returns how many events each endpoint has got.
func (r *receiver) events() map[*endpoint]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := map[*endpoint]int{}
	for _, e := range r.endpoints {
		counts[e] = len(e.bodies)
	}
	return counts
}

// holdAnswers makes the requests from now on wait until release is called.
func (r *receiver) holdAnswers() (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold = &hold{make(chan time.Time), map[*endpoint]int{}}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(r.hold.release)
		r.hold = nil
	}
}

// held returns how many requests of endpoints wait for their answers.
func (r *receiver) held(list []*endpoint) (count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range list {
		count += r.hold.waiting[e]
	}
	return count
}

// ServeHTTP implements [http.Handler]. It answers after up to 20 ms, so that faults meet requests in flight.
func (r *receiver) ServeHTTP(_ http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender has ended before it had sent the request
	}
	r.keep(request, body)
	due, abort := r.wait(request.URL.Path)
	select {
	case <-request.Context().Done():
		abort()
	case <-due:
	}
}

// wait returns when a request of an endpoint is answered, and what counts that it was aborted before.
func (r *receiver) wait(path string) (due <-chan time.Time, abort func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, e := r.hold, r.endpoints[path]
	if h == nil {
		return time.After(time.Duration(rand.Int64N(int64(20 * time.Millisecond)))), func() { r.aborted.Add(1) }
	}
	h.waiting[e]++
	return h.release, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		h.waiting[e]--
		r.aborted.Add(1)
	}
}

// keep keeps a request, which must be signed, and have the body of the event's earlier requests.
func (r *receiver) keep(request *http.Request, body []byte) {
	r.requests.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.endpoints[request.URL.Path]
	event, err := webhook.Verify([]webhook.Secret{e.secret}, request.Header, body, time.Now())
	if err != nil {
		r.tb.Errorf("request at %s: %v", request.URL.Path, err)
		return
	}
	before, ok := e.bodies[event.ID]
	switch {
	case !ok:
		e.bodies[event.ID] = string(body)
	case before != string(body):
		r.tb.Errorf("body of a repeated request = %s, want %s", body, before)
	default:
		e.repeated++
	}
}
