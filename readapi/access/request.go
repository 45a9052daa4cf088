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

// KeySpec describes a key to be issued.
type KeySpec struct {
	Name         string
	Grant        Grant
	Scopes       []Scope
	OwnExtension uuid.NullUUID  // limits calls:read to the calls of this extension
	Networks     []netip.Prefix // empty: every address; see [ParseNetwork]
	Tier         Tier           // empty: standard
	Expires      time.Time      // zero: never
}

// InvalidError lists everything that is wrong with a [KeySpec] or a [Roll].
type InvalidError struct {
	Problems []string
}

func (e *InvalidError) Error() string { return strings.Join(e.Problems, "; ") }

func (r KeySpec) withDefaults() KeySpec {
	r.Tier = cmp.Or(r.Tier, TierStandard)
	r.Name = strings.TrimSpace(r.Name)
	return r
}

func (r KeySpec) validate(now time.Time) error {
	// The error lists all problems, so that the operator corrects them in one step.
	var problems []string
	if r.Name == "" || !utf8.ValidString(r.Name) || strings.ContainsRune(r.Name, 0) {
		problems = append(problems, "a key needs a name")
	}

	if !r.Grant.known() || r.Grant.ID == uuid.Nil {
		problems = append(problems, "a key needs one grant: name a system, a group or an organization by its UUID")
	}
	problems = append(problems, r.scopeProblems()...)

	for _, network := range r.Networks {
		if !network.IsValid() || network != network.Masked() || network.Addr().Is4In6() {
			problems = append(problems, fmt.Sprintf("%s is not a network: write it like 192.0.2.0/24", network))
		}
	}

	if r.Tier != TierStandard && r.Tier != TierPremium {
		problems = append(problems, fmt.Sprintf("unknown tier %q: use standard or premium", string(r.Tier)))
	}
	if !r.Expires.IsZero() && !r.Expires.After(now) {
		problems = append(problems, "the expiry is not in the future")
	}

	if len(problems) > 0 {
		return &InvalidError{Problems: problems}
	}
	return nil
}

func (r KeySpec) scopeProblems() []string {
	var problems []string
	if len(r.Scopes) == 0 {
		problems = append(problems, "a key needs at least one scope")
	}

	for i, scope := range r.Scopes {
		if !scope.known() {
			problems = append(problems, fmt.Sprintf("unknown scope %q: use some of %v", string(scope), Scopes()))
		}
		if slices.Contains(r.Scopes[:i], scope) {
			problems = append(problems, fmt.Sprintf("scope %s is listed twice", scope))
		}
	}

	if r.OwnExtension.Valid && !slices.Contains(r.Scopes, ScopeCalls) {
		problems = append(problems, fmt.Sprintf("an own extension needs the scope %s", ScopeCalls))
	}
	return problems
}

// record returns the record of the new key without its short part, pepper and creation time.
func (r KeySpec) record() Record {
	id := uuid.New()
	record := Record{
		ID: id, Lineage: id, Name: r.Name, Grant: r.Grant, Scopes: r.Scopes, OwnExtension: r.OwnExtension,
		Networks: append([]netip.Prefix{}, r.Networks...), Tier: r.Tier, State: StateActive,
	}
	if !r.Expires.IsZero() {
		record.ExpiresAt = new(r.Expires.UTC().Truncate(time.Millisecond))
	}
	return record
}
