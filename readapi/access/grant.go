package access

import (
	"slices"

	"github.com/google/uuid"
)

// GrantKind is the kind of resource that a key is issued for.
type GrantKind string

// The kinds of grant.
const (
	GrantSystem       GrantKind = "system"       // one phone system
	GrantGroup        GrantKind = "group"        // the current members of a phone system group
	GrantOrganization GrantKind = "organization" // the phone systems that are directly attached to an organization
)

// Grant names what a key is issued for. Which phone systems it covers is looked up for every request.
type Grant struct {
	Kind GrantKind `json:"kind"`
	ID   uuid.UUID `json:"id"`
}

func (g Grant) known() bool {
	return g.Kind == GrantSystem || g.Kind == GrantGroup || g.Kind == GrantOrganization
}

// Tier selects a key's budget.
type Tier string

// The tiers.
const (
	TierStandard Tier = "standard"
	TierPremium  Tier = "premium"
)

// Scope is a right of a key, written as resource:action.
type Scope string

// The scopes that keys can have.
const (
	ScopeCalls        Scope = "calls:read"
	ScopeRecordings   Scope = "recordings:read"
	ScopeVoicemails   Scope = "voicemails:read"
	ScopePhones       Scope = "phones:read"
	ScopePhoneNumbers Scope = "phone-numbers:read"
	ScopeExtensions   Scope = "extensions:read"
	ScopeAgentConfigs Scope = "agent-configs:read"
	ScopeCallGroups   Scope = "call-groups:read"
	ScopeCallMenus    Scope = "call-menus:read"
)

// Scopes returns all scopes in the contract's order.
func Scopes() []Scope {
	return []Scope{
		ScopeCalls, ScopeRecordings, ScopeVoicemails, ScopePhones, ScopePhoneNumbers,
		ScopeExtensions, ScopeAgentConfigs, ScopeCallGroups, ScopeCallMenus,
	}
}

func (s Scope) known() bool { return slices.Contains(Scopes(), s) }
