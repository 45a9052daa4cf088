package scenario_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/readapi"
	"callboard/readapi/access"
)

// While the projector is stopped beyond the bound, nobody knows who has left a group or an organization: their keys are refused, those of one
// phone system are not. They are accepted again as soon as the projector has caught up.
func TestCoverage_ProjectorStopped(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.api = h.serve(h.readerPool(), func(c *readapi.Config) { c.CoverageMaxAge = 2 * time.Second })
	system, member, organization, group := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	state := phoneSystem(system, 1, "Harbour")
	state.OrganizationID = events.Some(organization)
	h.apply(changed(state, phoneSystem(member, 1, "Hill"), &events.Group{ID: group, Version: 1, Name: "Group", PhoneSystemIDs: []uuid.UUID{system, member}})...)
	own, ofGroup := h.systemKey(system), h.issue(access.KeySpec{Grant: access.Grant{Kind: access.GrantGroup, ID: group}})
	granted := map[string]access.Key{"group": ofGroup.Key, "organization": h.grantKey(access.GrantOrganization, organization)}
	paths := []string{"", "/" + system.String() + "/phones"}
	await := func(want int) {
		t.Helper()
		for name, key := range granted {
			for _, path := range paths {
				eventstest.Eventually(t, http.StatusText(want)+" for the key of the "+name+" "+path, func() bool { return h.get(key, path).status == want })
			}
		}
		for _, path := range paths {
			h.mustGet(own, path)
		}
	}

	await(http.StatusOK)
	h.stopProjector()
	h.Publish(changed(&events.Group{ID: group, Version: 2, Name: "Group", PhoneSystemIDs: []uuid.UUID{member}})...)
	await(http.StatusServiceUnavailable)
	for name, key := range granted {
		a := h.get(key, paths[1])
		if a.body["code"] != "SERVICE_UNAVAILABLE" || a.body["retryable"] != true || a.header.Get("Retry-After") != "60" {
			t.Errorf("%s: Retry-After = %q, body = %s, want 60 and SERVICE_UNAVAILABLE, retryable", name, a.header.Get("Retry-After"), a.text)
		}
	}
	eventstest.Eventually(t, "the audit has the reason", func() bool {
		for _, row := range h.auditRows(ofGroup.ID) {
			if row.Status == http.StatusServiceUnavailable && row.Code == "COVERAGE_STALE" {
				return true
			}
		}
		return false
	})

	h.StartProjector()
	eventstest.Eventually(t, "the phone system has left the group", func() bool { return h.get(ofGroup.Key, paths[1]).status == http.StatusNotFound })
	granted["group"], paths = h.grantKey(access.GrantGroup, group), paths[:1]
	await(http.StatusOK)
	eventstest.Eventually(t, "the organization's phone system", func() bool {
		return h.get(granted["organization"], "/"+system.String()+"/phones").status == http.StatusOK
	})
}
