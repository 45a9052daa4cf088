package scenario_test

import (
	"slices"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

// expectSystems compares what a key discovers with systems, given as id and name in turn.
func (f *fixture) expectSystems(key access.Key, systems ...any) {
	f.Helper()
	rows := []any{}
	for i := 0; i < len(systems); i += 2 {
		rows = append(rows, fields{"id": systems[i], "name": systems[i+1]})
	}
	f.expectJSON(key, "", "", fields{"data": rows})
}

func systemOfASystemKey(f *fixture) {
	f.expectSystems(f.key, f.harbour, "Harbour Dental")
	f.expectSystems(f.systemKey(f.branch), f.branch, "Branch")
}

func currentMembersOfAGroup(f *fixture) {
	f.expectSystems(f.grantKey(access.GrantGroup, f.group), f.annex, "Annex", f.harbour, "Harbour Dental")
	group, first, second := uuid.New(), uuid.New(), uuid.New()
	key := f.grantKey(access.GrantGroup, group)
	with := func(version int64, members ...uuid.UUID) events.State {
		return &events.Group{ID: group, Version: version, Name: "G", PhoneSystemIDs: members}
	}
	f.apply(changed(phoneSystem(first, 1, "First"), phoneSystem(second, 1, "Second"), with(1, first, uuid.New()))...)
	f.expectSystems(key, first, "First")
	f.apply(changed(with(2, second))...)
	f.expectSystems(key, second, "Second")
	f.apply(deleted(with(3)))
	f.expectSystems(key)
}

func systemsOfAnOrganization(f *fixture) {
	f.expectSystems(f.bothSystemsKey(), f.annex, "Annex", f.harbour, "Harbour Dental")
	f.expectSystems(f.grantKey(access.GrantOrganization, f.child), f.branch, "Branch")
	f.expectOutcome(f.bothSystemsKey(), "/"+f.branch.String()+"/phones", "404 NOT_FOUND")
}

// liveCoverage changes what grants cover, and the names of systems, between requests with the same keys.
func liveCoverage(f *fixture) {
	system, organization, group := uuid.New(), uuid.New(), uuid.New()
	direct, attached, member := f.systemKey(system), f.grantKey(access.GrantOrganization, organization), f.grantKey(access.GrantGroup, group)
	covers := func(name string, keys ...access.Key) {
		f.Helper()
		for _, key := range []access.Key{direct, attached, member} {
			covered, want := []any{}, "404 NOT_FOUND"
			if slices.Contains(keys, key) {
				covered, want = []any{system, name}, "200"
			}
			f.expectSystems(key, covered...)
			f.expectOutcome(key, "/"+system.String()+"/phones", want)
		}
	}
	change := func(version int64, name string, organization events.Null[uuid.UUID], members ...uuid.UUID) {
		f.Helper()
		f.apply(changed(&events.PhoneSystem{ID: system, Version: version, Name: name, OrganizationID: organization},
			&events.Group{ID: group, Version: version, Name: "G", PhoneSystemIDs: members})...)
	}
	covers("")
	change(1, "First", events.Null[uuid.UUID]{})
	covers("First", direct)
	change(2, "Second", events.Some(organization), system)
	covers("Second", direct, attached, member)
	change(3, "Third", events.Some(f.child), uuid.New())
	covers("Third", direct)
	f.apply(deleted(phoneSystem(system, 4, "")))
	covers("")
}

// nothingToDiscover also checks that the same id in another kind of grant covers nothing.
func nothingToDiscover(f *fixture) {
	for _, grant := range []access.Grant{
		{Kind: access.GrantSystem, ID: uuid.New()}, {Kind: access.GrantGroup, ID: uuid.New()}, {Kind: access.GrantOrganization, ID: uuid.New()},
		{Kind: access.GrantSystem, ID: f.group}, {Kind: access.GrantSystem, ID: f.organization},
		{Kind: access.GrantGroup, ID: f.harbour}, {Kind: access.GrantOrganization, ID: f.harbour},
	} {
		f.expectSystems(f.grantKey(grant.Kind, grant.ID))
	}
}

// totalsAfterDeletions publishes and deletes an entity of each list.
func totalsAfterDeletions(f *fixture) {
	o := f.ownSystem()
	voicemail := &events.Voicemail{
		ID: uuid.New(), PhoneSystemID: o.system, Version: o.next(), CallSid: o.latest.CallSid, From: events.Some("101"), RecordingSid: "REvoicemail", CreatedAt: day(4),
	}
	phone := &events.Phone{ID: uuid.New(), PhoneSystemID: o.system, Version: o.next(), Name: "Handset", Status: "active", CreatedAt: day(4)}
	extension := o.extension(uuid.New(), "Front", "active")
	o.apply(o.recording(events.RecordingReady), o.analysis(func(*events.Analysis) {}), extension, events.Changed(voicemail), events.Changed(phone))
	lists := []string{"/call-logs", "/call-analyses", "/recordings", "/voicemails", "/extensions", "/phones", "/phones?status=active"}
	for _, list := range lists {
		o.equalMembers(list, o.mustGet(o.key, o.path(list)), fields{"total": 1, "totalPages": 1})
	}
	voicemail.Version, phone.Version = o.next(), o.next()
	o.apply(o.deletion(o.editCall(func(*events.Call) {})), deleted(voicemail), deleted(phone), o.deletion(extension))
	for _, list := range lists {
		o.equalMembers(list, o.mustGet(o.key, o.path(list)), fields{"total": 0, "totalPages": 0, "data": []any{}})
	}
}
