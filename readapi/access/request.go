package access

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Request is a key to be issued.
type Request struct {
	Name         string
	Grant        Grant
	Scopes       []Scope
	OwnExtension uuid.NullUUID  // narrows calls:read to the calls of this extension
	Networks     []netip.Prefix // empty: any address; see [ParseNetwork]
	Tier         Tier           // empty: standard
	Expires      time.Time      // zero: never
}

// RequestError is a [Request] that can't be a key, with all that is wrong with it.
type RequestError struct {
	Problems []string
}

// Error lists the problems.
func (e *RequestError) Error() string { return strings.Join(e.Problems, "; ") }

// ParseNetwork reads an address or a CIDR. A CIDR whose address has bits set behind its prefix is refused, since it is more
// often a mistake than a shorthand.
func ParseNetwork(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil || network.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a CIDR such as 192.0.2.0/24", text)
	}
	if network != network.Masked() {
		return netip.Prefix{}, fmt.Errorf("%q has bits set behind its prefix: %s is the network", text, network.Masked())
	}
	return network, nil
}

func (r Request) withDefaults() Request {
	r.Tier = cmp.Or(r.Tier, TierStandard)
	r.Name = strings.TrimSpace(r.Name)
	return r
}

func (r Request) validate(now time.Time) error {
	var problems []string
	if r.Name == "" || !utf8.ValidString(r.Name) || strings.ContainsRune(r.Name, 0) {
		problems = append(problems, "a key has a name")
	}
	if !r.Grant.known() || r.Grant.ID == uuid.Nil {
		problems = append(problems, "a key is granted for one system, group or organization, named by its UUID")
	}
	problems = append(problems, r.scopeProblems()...)
	for _, network := range r.Networks {
		if !network.IsValid() || network != network.Masked() || network.Addr().Is4In6() {
			problems = append(problems, fmt.Sprintf("%s is not a network", network))
		}
	}
	if r.Tier != TierStandard && r.Tier != TierPremium {
		problems = append(problems, fmt.Sprintf("%q is no tier: standard or premium", string(r.Tier)))
	}
	if !r.Expires.IsZero() && !r.Expires.After(now) {
		problems = append(problems, "the expiry is not in the future")
	}
	if len(problems) > 0 {
		return &RequestError{Problems: problems}
	}
	return nil
}

func (r Request) scopeProblems() []string {
	var problems []string
	if len(r.Scopes) == 0 {
		problems = append(problems, "a key has at least one scope")
	}
	for i, scope := range r.Scopes {
		if !scope.known() {
			problems = append(problems, fmt.Sprintf("%q is no scope: %v", string(scope), Scopes()))
		}
		if slices.Contains(r.Scopes[:i], scope) {
			problems = append(problems, fmt.Sprintf("scope %s is given twice", scope))
		}
	}
	if r.OwnExtension.Valid && !slices.Contains(r.Scopes, ScopeCalls) {
		problems = append(problems, fmt.Sprintf("an own extension narrows %s, which is not among the scopes", ScopeCalls))
	}
	return problems
}

// record is what will be kept of the request's key, save what the key and the database add.
func (r Request) record() Record {
	id := uuid.New()
	record := Record{
		ID: id, Lineage: id, Name: r.Name, Grant: r.Grant, Scopes: r.Scopes, OwnExtension: r.OwnExtension,
		Networks: append([]netip.Prefix{}, r.Networks...), Tier: r.Tier, State: StateActive,
	}
	if !r.Expires.IsZero() {
		expires := r.Expires.UTC().Truncate(time.Millisecond)
		record.ExpiresAt = &expires
	}
	return record
}
