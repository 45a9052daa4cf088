package readapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"callboard/readapi/access"
	"callboard/readapi/limit"
)

// admit makes the checks that come before the parameters, in the contract's order (Authentication, 18: credential outcomes):
//
//	key missing, malformed, expired or revoked            401
//	credential that is not a tenant API key               403
//	address outside the key's allowlist                   403
//	malformed identifier in the path                      400
//	scope missing, or narrowed where it can't be          403
//	quota used up                                         429
//	phone system not covered by the grant                 404
//
// A request without the scope takes no permit. A request for a system that is not covered takes one like any other, so the quota
// doesn't reveal which systems exist.
func (s *service) admit(
	ctx context.Context, r *http.Request, x *exchange, o operation, variables map[string]string,
) (*request, error) {
	ids, malformed := parseIdentifiers(variables)
	x.client, x.system = s.proxies.Client(r.RemoteAddr, r.Header), ids.system
	auth, err := s.authorizer.Authorize(ctx, access.Attempt{
		Credential: access.CredentialOf(r.Header), Client: x.client, System: ids.system,
	})
	if full := s.reserveEntry(x, auth, err); full != nil {
		return nil, full
	}
	if err != nil {
		return nil, err
	}
	if malformed != nil {
		return nil, malformed
	}
	if !o.allowedFor(auth) {
		return nil, &problem{code: insufficientScope}
	}
	if err := s.takePermit(ctx, x, o, auth); err != nil {
		return nil, err
	}
	if _, scoped := variables[systemVariable]; scoped && !auth.Covered {
		return nil, &problem{code: notFound}
	}
	return &request{
		identifiers: ids,
		auth:        auth,
		narrowing:   o.narrowing(auth),
		parameters:  parseParameters(r.URL.RawQuery),
		url:         s.base + strings.Replace(o.Path, "{"+systemVariable+"}", ids.system.String(), 1),
	}, nil
}

// reserveEntry reserves an audit entry for a request that was made with a key's secret, whether the key is valid or not. While
// the audit queue is full, such a request is refused, so that no request goes unrecorded.
func (s *service) reserveEntry(x *exchange, auth access.Authorization, err error) error {
	held := err == nil
	var denied *access.DeniedError
	if errors.As(err, &denied) {
		auth.KeyID, held = denied.KeyID, denied.Authenticated
	}
	x.keyID = auth.KeyID
	if !held || x.keyID == uuid.Nil {
		return nil
	}
	if err := s.auditQueue.Reserve(); err != nil {
		return &problem{code: serviceUnavailable, retryAfter: unavailableRetryAfter, cause: err}
	}
	x.reserved = true
	return nil
}

// takePermit takes a permit from the key's quota.
func (s *service) takePermit(ctx context.Context, x *exchange, o operation, auth access.Authorization) error {
	taken := limit.Request{Lineage: auth.Lineage, Premium: auth.Tier == access.TierPremium}
	if o.Report {
		taken.Report = o.ID
	}
	x.quota = s.limiter.Take(ctx, taken)
	switch {
	case x.quota.Allowed:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("take a permit: %w", ctx.Err())
	}
	return &problem{code: rateLimited, retryAfter: x.quota.RetryAfter}
}
