package access

import "slices"

// Scope is a right that a key carries, as resource:action.
type Scope string

// The scopes that are issued on keys.
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

// Scopes are all scopes, in the contract's order.
func Scopes() []Scope {
	return []Scope{
		ScopeCalls, ScopeRecordings, ScopeVoicemails, ScopePhones, ScopePhoneNumbers,
		ScopeExtensions, ScopeAgentConfigs, ScopeCallGroups, ScopeCallMenus,
	}
}

func (s Scope) known() bool { return slices.Contains(Scopes(), s) }
