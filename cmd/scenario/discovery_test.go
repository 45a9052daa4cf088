package scenario_test

import (
	"slices"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

// discovers holds what a key discovers against systems given as id and name in turn.
func (w *world) discovers(key access.Key, systems ...any) {
	w.t.Helper()
	rows := []any{}
	for i := 0; i < len(systems); i += 2 {
		rows = append(rows, fields{"id": systems[i], "name": systems[i+1]})
	}
	w.shows(key, "", "", fields{"data": rows})
}

func (w *world) granted(kind access.GrantKind, id uuid.UUID) access.Key {
	w.t.Helper()
	return w.stage.key(access.Request{Grant: access.Grant{Kind: kind, ID: id}})
}

func discoveryTakesNoParameters(w *world) {
	for _, name := range []string{"page", "pageSize", "name", "status", "phoneSystemId", "cursor"} {
		w.judged(w.key, "?"+name+"=1", "400 VALIDATION_FAILED /"+name+" UNKNOWN_PARAMETER")
	}
}

// discoveryByName are ordered by code point: capitals come before small letters, and an accent after both.
func discoveryByName(w *world) {
	group := &events.Group{ID: uuid.New(), Version: 1, Name: "G"}
	ids := map[string]uuid.UUID{}
	list := []events.State{group}
	for _, name := range []string{"beta", "Éclair", "Alpha", "Zeta", "alpha"} {
		ids[name] = uuid.New()
		group.PhoneSystemIDs = append(group.PhoneSystemIDs, ids[name])
		list = append(list, phoneSystem(ids[name], 1, name))
	}
	w.happen(changed(list...)...)
	w.discovers(w.granted(access.GrantGroup, group.ID),
		ids["Alpha"], "Alpha", ids["Zeta"], "Zeta", ids["alpha"], "alpha", ids["beta"], "beta", ids["Éclair"], "Éclair")
}

func systemOfASystemKey(w *world) {
	w.discovers(w.key, w.harbour, "Harbour Dental")
	w.discovers(w.systemKey(w.branch), w.branch, "Branch")
}

func currentMembersOfAGroup(w *world) {
	w.discovers(w.granted(access.GrantGroup, w.group), w.annex, "Annex", w.harbour, "Harbour Dental")
	group, here, there := uuid.New(), uuid.New(), uuid.New()
	key := w.granted(access.GrantGroup, group)
	of := func(version int64, members ...uuid.UUID) events.State {
		return &events.Group{ID: group, Version: version, Name: "G", PhoneSystemIDs: members}
	}
	w.happen(changed(phoneSystem(here, 1, "Here"), phoneSystem(there, 1, "There"), of(1, here, uuid.New()))...)
	w.discovers(key, here, "Here")
	w.happen(changed(of(2, there))...)
	w.discovers(key, there, "There")
	w.happen(deleted(of(3)))
	w.discovers(key)
}

func systemsOfAnOrganization(w *world) {
	w.discovers(w.both(), w.annex, "Annex", w.harbour, "Harbour Dental")
	w.discovers(w.granted(access.GrantOrganization, w.child), w.branch, "Branch")
	w.judged(w.both(), "/"+w.branch.String()+"/phones", "404 NOT_FOUND")
}

// liveCoverage changes what grants cover, and what covered systems are called, between requests with the same keys.
func liveCoverage(w *world) {
	system, organization, group := uuid.New(), uuid.New(), uuid.New()
	direct, attached, member := w.systemKey(system), w.granted(access.GrantOrganization, organization), w.granted(access.GrantGroup, group)
	covers := func(name string, keys ...access.Key) {
		w.t.Helper()
		for _, key := range []access.Key{direct, attached, member} {
			covered, verdict := []any{}, "404 NOT_FOUND"
			if slices.Contains(keys, key) {
				covered, verdict = []any{system, name}, "200"
			}
			w.discovers(key, covered...)
			w.judged(key, "/"+system.String()+"/phones", verdict)
		}
	}
	become := func(version int64, name string, of events.Null[uuid.UUID], members ...uuid.UUID) {
		w.t.Helper()
		w.happen(changed(&events.PhoneSystem{ID: system, Version: version, Name: name, OrganizationID: of},
			&events.Group{ID: group, Version: version, Name: "G", PhoneSystemIDs: members})...)
	}
	covers("")
	become(1, "First", events.Null[uuid.UUID]{})
	covers("First", direct)
	become(2, "Second", events.Some(organization), system)
	covers("Second", direct, attached, member)
	become(3, "Third", events.Some(w.child), uuid.New())
	covers("Third", direct)
	w.happen(deleted(phoneSystem(system, 4, "")))
	covers("")
}

func nothingToDiscover(w *world) {
	for _, kind := range []access.GrantKind{access.GrantSystem, access.GrantGroup, access.GrantOrganization} {
		w.discovers(w.granted(kind, uuid.New()))
	}
}
