package access

import "github.com/google/uuid"

// GrantKind is what a key is issued for.
type GrantKind string

// The kinds of grant.
const (
	GrantSystem       GrantKind = "system"       // one phone system
	GrantGroup        GrantKind = "group"        // the current members of a phone system group
	GrantOrganization GrantKind = "organization" // the systems directly attached to an organization
)

// Grant is the one target of a key. Which phone systems it covers is looked up on every request.
type Grant struct {
	Kind GrantKind `json:"kind"`
	ID   uuid.UUID `json:"id"`
}

func (g Grant) known() bool {
	return g.Kind == GrantSystem || g.Kind == GrantGroup || g.Kind == GrantOrganization
}

// Tier is a key's rate tier.
type Tier string

// The tiers.
const (
	TierStandard Tier = "standard"
	TierPremium  Tier = "premium"
)
