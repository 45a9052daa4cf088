package readapi

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"callboard/readapi/access"
	"callboard/readapi/auditqueue"
)

// The log has no secrets, headers and query strings.
func TestLog(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	text := key.Key.Reveal()
	secret := strings.Split(text, "_")[3]
	path := systemPath(system, "/call-logs")
	h.get(path+"?callSid=canary&api_key="+text, withKey(key), with("Cookie", "canary"), with("User-Agent", "canary"))
	h.get(path, with("Authorization", "Bearer "+text))
	h.get(path, with("X-API-Key", text+"canary"))
	h.get("/"+text, withKey(key))
	h.get("/customer/phone-systems/"+text+"/phones/canary", withKey(key))
	h.get(path, with("X-API-Key", forged(key.Key)), with("X-Forwarded-For", "canary"))
	for _, forbidden := range []string{secret, "canary", "pppp"} {
		if h.log.Contains(forbidden) {
			t.Errorf("the log has %q: %s", forbidden, h.log)
		}
	}
	h.get(path, withKey(key), with("X-Request-Id", "abc"))
	h.expectLogged(map[string]any{
		"request_id": "abc", "operation": "listCallLogs", "method": "GET", "status": 200.0, "key_id": key.ID.String(), "level": "info",
	})
	if got := h.log.Count("\n"); got != 7 {
		t.Errorf("lines = %d, want 7", got)
	}
	h.get(path, with("X-API-Key", forged(key.Key)))
	h.expectLogged(map[string]any{"denial": "wrong secret", "key_id": key.ID.String()})
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	key := h.key(h.system("one"))
	h.get("/customer/phone-systems", withKey(key))
	h.get("/customer/phone-systems")
	h.get("/nothing")
	want := `
		# HELP callboard_readapi_requests_total Requests answered, by operation and status; 499 if the client closed the connection first.
		# TYPE callboard_readapi_requests_total counter
		callboard_readapi_requests_total{operation="listAccessiblePhoneSystems",status="200"} 1
		callboard_readapi_requests_total{operation="listAccessiblePhoneSystems",status="401"} 1
		callboard_readapi_requests_total{operation="none",status="404"} 1
	`
	registry := h.config.Metrics.(*prometheus.Registry)
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "callboard_readapi_requests_total"); err != nil {
		t.Error(err)
	}
	if count, err := testutil.GatherAndCount(registry, "callboard_readapi_request_duration_seconds"); count != 2 || err != nil {
		t.Errorf("histograms = %d, %v, want 2", count, err)
	}
}

func TestShedReasonOf(t *testing.T) {
	t.Parallel()
	for want, err := range map[shedReason]error{
		shedBytes:    &problem{code: serviceUnavailable, cause: errBodyMemory},
		shedLineage:  &problem{code: serviceUnavailable, cause: errLineageMemory},
		shedAudit:    &problem{code: serviceUnavailable, cause: auditqueue.ErrFull},
		shedUnknown:  access.ErrThrottled,
		shedCoverage: staleCoverage(time.Hour),
		shedTimeout:  &problem{code: externalServiceTimeout, cause: context.DeadlineExceeded},
		shedDatabase: connectError(t, pgerrcode.TooManyConnections),
	} {
		if got := shedReasonOf(err); got != want {
			t.Errorf("reason of %q = %s, want %s", err, got, want)
		}
	}
}
