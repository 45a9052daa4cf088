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

// admit makes the checks that come before parameters, in the contract's order (Authentication, 18: credential outcomes):
//
//	key missing, malformed, expired or revoked       401
//	credential that is no tenant API key             403
//	address outside the key's allowlist              403
//	malformed identifier in the path                 400
//	key lacks the scope, or has it for its own calls 403
//	over the key's budget                            429
//	phone system not covered by the grant            404
//
// Malformed identifiers are known before the key is, and reported after it. A request that its scope forbids costs nothing of
// the budget, and one for a system that is not covered costs as much as any other, so that a budget is no oracle.
func (s *service) admit(
	ctx context.Context, r *http.Request, x *exchange, o operation, variables map[string]string,
) (*request, error) {
	ids, malformed := parseIdentifiers(variables)
	x.client, x.system = s.proxies.Client(r.RemoteAddr, r.Header), ids.system
	permit, err := s.authorizer.Authorize(ctx, access.Attempt{
		Credential: access.CredentialOf(r.Header), Client: x.client, System: ids.system,
	})
	if full := s.identify(x, permit, err); full != nil {
		return nil, full
	}
	if err != nil {
		return nil, err
	}
	if malformed != nil {
		return nil, malformed
	}
	if !o.allows(permit) {
		return nil, &problem{code: insufficientScope}
	}
	if err := s.spend(ctx, x, o, permit); err != nil {
		return nil, err
	}
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

// identify notes whose request it is. One that holds a key, whether that is of use or not, is in the audit or is refused.
func (s *service) identify(x *exchange, permit access.Authorization, err error) error {
	held := err == nil
	var denied *access.DeniedError
	if errors.As(err, &denied) {
		permit.KeyID, held = denied.KeyID, denied.Authenticated
	}
	x.key = permit.KeyID
	if !held || x.key == uuid.Nil {
		return nil
	}
	if err := s.auditQueue.Reserve(); err != nil {
		return &problem{code: serviceUnavailable, retryAfter: unavailableRetry, cause: err}
	}
	x.entry = true
	return nil
}

// spend takes a permit from the key's budget.
func (s *service) spend(ctx context.Context, x *exchange, o operation, permit access.Authorization) error {
	ask := limit.Request{Lineage: permit.Lineage, Premium: permit.Tier == access.TierPremium}
	if o.Report {
		ask.Report = o.ID
	}
	x.budget = s.limiter.Take(ctx, ask)
	switch {
	case x.budget.Allowed:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("budget: %w", ctx.Err())
	}
	return &problem{code: rateLimited, retryAfter: x.budget.RetryAfter}
}
