package readapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"callboard/readapi/access"
	"callboard/readapi/limit"
)

// admit makes the checks that come before the parameters, in the contract's order (Authentication, 18: credential
// outcomes):
//
//	key missing, malformed, expired or revoked            401
//	credential that is not a tenant API key               403
//	address outside the key's allowlist                   403
//	malformed identifier in the path                      400
//	scope missing, or narrowed where it can't be          403
//	no place for the audit entry                          503
//	quota used up                                         429
//	coverage of the group or organization is too old      503
//	phone system not covered by the grant                 404
//
// A request without the scope takes no permit. A request for a system that is not covered takes one like any other, so
// the quota doesn't reveal which systems exist. The age of the coverage is that of a partition, so it doesn't, either.
func (s *service) admit(
	ctx context.Context, r *http.Request, x *exchange, o operation, variables map[string]string,
) (*request, error) {
	// Authorization needs the phone system, so the path is read first. Its problems are reported after the key's.
	ids, malformed := parseIdentifiers(variables)
	x.system = ids.system
	auth, err := s.authorize(ctx, r, x)
	if err != nil {
		return nil, err
	}

	if malformed != nil {
		return nil, malformed
	}
	if !o.allowedFor(auth) {
		return nil, &problem{code: insufficientScope}
	}

	// A request that may get a permit has a place in the audit before, so that no request goes unrecorded. Requests
	// without a permit are counted, which needs no place.
	if err := s.auditQueue.Reserve(x.lineage); err != nil {
		return nil, &problem{code: serviceUnavailable, retryAfter: unavailableRetryAfter, cause: err}
	}
	x.reserved = true

	x.decision = s.limiter.Take(ctx, limit.Request{
		Lineage: auth.Lineage, Premium: auth.Tier == access.TierPremium, Report: o.Report,
	})
	if !x.decision.Allowed {
		s.releaseEntry(x)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("take a permit: %w", ctx.Err())
		}
		return nil, &problem{code: rateLimited, retryAfter: x.decision.RetryAfter}
	}

	// From here on the permit stays used, whatever the answer is.
	if s.maxAge > 0 && auth.CoverageAge > s.maxAge {
		return nil, staleCoverage(auth.CoverageAge)
	}
	if _, scoped := variables[systemVariable]; scoped && !auth.Covered {
		return nil, &problem{code: notFound}
	}

	return &request{
		identifiers: ids,
		auth:        auth,
		narrowing:   o.narrowing(auth),
		parameters:  parseParameters(r.URL.RawQuery),
		service:     s,
		exchange:    x,
		url:         s.base + strings.Replace(o.Path, "{"+systemVariable+"}", ids.system.String(), 1),
	}, nil
}

// authorize checks the credential and the client's address, and notes whose key the request has.
func (s *service) authorize(ctx context.Context, r *http.Request, x *exchange) (access.Authorization, error) {
	x.client = s.proxies.Client(r.RemoteAddr, r.Header)
	auth, err := s.authorizer.Authorize(ctx, access.AuthorizeParams{
		Credential: access.CredentialOf(r.Header), Client: x.client, System: x.system,
	})

	// The audit has every request that was made with a key's secret, whether the key is valid or not.
	x.keyID, x.lineage, x.audited = auth.KeyID, auth.Lineage, err == nil
	var denied *access.DeniedError
	if errors.As(err, &denied) {
		x.keyID, x.lineage, x.audited = denied.KeyID, denied.Lineage, denied.Authenticated
	}
	return auth, err
}

// releaseEntry gives the request's place in the audit back.
func (s *service) releaseEntry(x *exchange) {
	s.auditQueue.Release(x.lineage)
	x.reserved = false
}
