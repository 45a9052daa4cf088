package fault_test

import (
	"github.com/google/uuid"

	"callboard/readapi/access"
)

// keyring are the keys that clients have.
type keyring struct {
	systems      map[uuid.UUID]access.Key // with every scope
	narrowed     map[uuid.UUID]access.Key // to the calls of one extension
	group        access.Key
	organization access.Key

	reports map[uuid.UUID][]access.Key // of those who follow reports; several, since each has few pages a minute
}

// reportKeys is how many keys a client that follows reports takes turns with.
const reportKeys = 24

func (s *stage) issueKeys() *keyring {
	s.tb.Helper()
	registry := access.NewRegistry(s.pool, s.pepper())
	issue := func(kind access.GrantKind, id uuid.UUID, own uuid.NullUUID) access.Key {
		issued, err := registry.Issue(s.tb.Context(), access.Request{
			Name: "fault", Grant: access.Grant{Kind: kind, ID: id}, Scopes: access.Scopes(), Tier: access.TierPremium, OwnExtension: own,
		})
		if err != nil {
			s.tb.Fatal(err)
		}
		return issued.Key
	}
	anyone := uuid.NullUUID{}
	k := &keyring{
		systems: map[uuid.UUID]access.Key{}, narrowed: map[uuid.UUID]access.Key{}, reports: map[uuid.UUID][]access.Key{},
		group:        issue(access.GrantGroup, s.feed.company.Groups()[0].ID, anyone),
		organization: issue(access.GrantOrganization, s.feed.company.Organizations()[0].ID, anyone),
	}
	for _, system := range s.feed.systems() {
		k.systems[system] = issue(access.GrantSystem, system, anyone)
		k.narrowed[system] = issue(access.GrantSystem, system, uuid.NullUUID{UUID: s.feed.extension(system), Valid: true})
		for range reportKeys {
			k.reports[system] = append(k.reports[system], issue(access.GrantSystem, system, anyone))
		}
	}
	return k
}
