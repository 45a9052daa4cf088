package readapi

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"callboard/readapi/access"
	"callboard/schema/schematest"
)

// Discovery and coverage agree, live, for every kind of grant.
func TestDiscovery(t *testing.T) {
	r := newReader(t)
	organization, other := uuid.New(), uuid.New()
	a, b, c, d := r.system("Zürich"), r.system("Aarau"), r.system("aarau"), r.system("Ähtäri")
	r.attach(a, organization)
	r.attach(b, organization)
	r.attach(c, other)
	group := r.group(c, a, uuid.New(), d)
	keys := map[string]access.IssuedKey{
		"system":        r.key(a),
		"group":         r.key(uuid.Nil, grantedTo(access.GrantGroup, group)),
		"organization":  r.key(uuid.Nil, grantedTo(access.GrantOrganization, organization)),
		"no group":      r.key(uuid.Nil, grantedTo(access.GrantGroup, uuid.New())),
		"wrong kind":    r.key(uuid.Nil, grantedTo(access.GrantOrganization, a)),
		"a scope alone": r.key(a, withScopes(access.ScopePhones)),
	}
	r.expectDiscovery(keys, []uuid.UUID{a, b, c, d}, map[string][]uuid.UUID{
		"system": {a}, "group": {a, c, d}, "organization": {b, a}, "a scope alone": {a},
	})
	r.exec("update projection.phone_system_group set phone_system_ids = $2 where id = $1", group, []uuid.UUID{b})
	r.attach(c, organization)
	r.exec("delete from projection.phone_system where id = $1", a)
	r.expectDiscovery(keys, []uuid.UUID{a, b, c, d}, map[string][]uuid.UUID{
		"group": {b}, "organization": {b, c},
	})
}

// Discovery is coverage, so it is the primary that is asked: a replica that is behind shows no system that the key has lost.
func TestDiscovery_Replica(t *testing.T) {
	replica := projection{t, openPool(t, schematest.New(t).URL())}
	r := newReader(t, func(c *Config) { c.Projection = replica.pool })
	organization, kept := uuid.New(), r.system("kept")
	r.attach(kept, organization)
	replica.attach(replica.system("lost"), organization)
	key := r.key(uuid.Nil, grantedTo(access.GrantOrganization, organization))
	want := `{"data":[{"id":"` + kept.String() + `","name":"kept"}]}`
	if w := r.get("/customer/phone-systems", withKey(key)); w.Body.String() != want {
		t.Errorf("%s, want %s", w.Body, want)
	}
}

func (r *reader) expectDiscovery(keys map[string]access.IssuedKey, systems []uuid.UUID, want map[string][]uuid.UUID) {
	r.Helper()
	for name, key := range keys {
		w := r.get("/customer/phone-systems", withKey(key))
		var got struct{ Data []struct{ ID uuid.UUID } }
		decode(r, w, &got)
		ids := []uuid.UUID{}
		for _, s := range got.Data {
			ids = append(ids, s.ID)
		}
		if got.Data == nil || !slices.Equal(ids, append([]uuid.UUID{}, want[name]...)) {
			r.Errorf("%s: %s, want %v", name, w.Body, want[name])
		}
		for _, system := range systems {
			status := r.get("/customer/phone-systems/"+system.String()+"/phones", withKey(key)).Code
			covered := slices.Contains(want[name], system)
			if name == "a scope alone" || status == 403 {
				continue
			}
			if (status == 200) != covered {
				r.Errorf("%s: %s answers %d, covered: %v", name, system, status, covered)
			}
		}
	}
}
