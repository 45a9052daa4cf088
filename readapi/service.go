package readapi

import (
	"context"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"callboard/readapi/access"
)

// service is the handler.
type service struct {
	routes    *routes
	resources map[string]resource // by path
	authority *access.Authority
	proxies   access.Proxies
	base      string // the base URL
	timeout   time.Duration
	log       zerolog.Logger
	metrics   *metrics
	replies   sync.Pool
}

// exchange is what the request's line in the log says of it.
type exchange struct {
	start     time.Time
	requestID string
	operation string
	key       uuid.UUID
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
	status := s.write(w, r, x, out, err)
	s.record(r, x, status, err)
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

// admit makes the checks that come before parameters, in the contract's order. Malformed identifiers are known before the key
// is, and reported after it.
func (s *service) admit(
	ctx context.Context, r *http.Request, x *exchange, o operation, variables map[string]string,
) (*request, error) {
	ids, malformed := parseIdentifiers(variables)
	permit, err := s.authority.Admit(ctx, access.Attempt{
		Credential: access.CredentialOf(r.Header),
		Client:     s.proxies.Client(r.RemoteAddr, r.Header),
		System:     ids.system,
	})
	if err != nil {
		return nil, err
	}
	x.key = permit.KeyID
	if malformed != nil {
		return nil, malformed
	}
	if !o.allows(permit) {
		return nil, &problem{code: insufficientScope}
	}
	// Here the rate is asked: a request that its scope forbids costs nothing of the budget, and one for a system that is not
	// covered costs as much as any other, so that a budget is no oracle.
	if _, scoped := variables[systemVariable]; scoped && !permit.Covered {
		return nil, &problem{code: notFound}
	}
	return &request{
		identifiers: ids,
		permit:      permit,
		own:         o.narrowing(permit),
		parameters:  parseParameters(r.URL.RawQuery),
		url:         s.base + strings.Replace(o.Path, "{"+systemVariable+"}", ids.system.String(), 1),
	}, nil
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
