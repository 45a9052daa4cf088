package readapi

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// While the deciding partition is too far behind, keys of groups and organizations are refused, whatever phone
// system they ask for. Keys of one phone system are not.
func TestCoverage_TooOld(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(c *Config) { c.CoverageMaxAge = time.Hour })
	organization, system := uuid.New(), h.system("one")
	h.attach(system, organization)
	own := h.key(system)
	granted := map[string]access.IssuedKey{
		"group":        h.key(uuid.Nil, grantedTo(access.GrantGroup, h.group(system))),
		"organization": h.key(uuid.Nil, grantedTo(access.GrantOrganization, organization)),
	}
	paths := []string{"/customer/phone-systems", systemPath(system, "/phones")}
	expect := func(when string, want code) {
		t.Helper()
		for _, path := range paths {
			for name, key := range granted {
				w := h.get(path, withKey(key))
				h.expectCode(when+": "+name+" "+path, w, want)
				if want != "" {
					h.expectHeaders(name, w, map[string]string{"Retry-After": "60"})
				}
			}
			h.expectCode(when+": system "+path, h.get(path, withKey(own)), "")
		}
	}
	h.setWatermark(time.Now().Add(-50 * time.Minute))
	expect("50 minutes", "")
	h.setWatermark(time.Now().Add(-61 * time.Minute))
	expect("61 minutes", serviceUnavailable)
	for name, key := range granted {
		h.expectCode(name+", unknown phone system", h.get(systemPath(uuid.New(), "/phones"), withKey(key)), serviceUnavailable)
		h.expectCode(name+", malformed phone system", h.get("/customer/phone-systems/x/phones", withKey(key)), validationFailed)
	}
	scope := h.key(uuid.Nil, grantedTo(access.GrantOrganization, organization), withScopes(access.ScopeCalls))
	h.expectCode("missing scope", h.get(paths[1], withKey(scope)), insufficientScope)
	if got := h.metric("callboard_readapi_shed_total", "coverage"); got == 0 {
		t.Error("requests shed for the reason coverage = 0, want those that were refused")
	}
	h.config.CoverageMaxAge = 0
	h.restart()
	expect("no bound", "")
}

// The audit has its own code for a request that was refused because of the age of its coverage.
func TestCoverage_AuditCode(t *testing.T) {
	t.Parallel()
	x := &exchange{start: time.Now(), operation: "listPhones"}
	entry := x.auditEntry(http.StatusServiceUnavailable, staleCoverage(time.Hour))
	if entry.Code != "COVERAGE_STALE" || entry.Status != http.StatusServiceUnavailable {
		t.Errorf("audit: status = %d, code = %s, want 503, COVERAGE_STALE", entry.Status, entry.Code)
	}
}
