//go:build linux

package load_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/readapi/access"
)

// audited returns how many requests of a key are in the audit, and in how many rows.
func (i *installation) audited(key uuid.UUID) (requests, rows int64) {
	i.Helper()
	const where = " from access.audit where key_id = $1"
	return query[int64](i, "select coalesce(sum(count), 0)::bigint"+where, key), query[int64](i, "select count(*)"+where, key)
}

// A revoked key with 5,000 requests a second takes nothing from a key that pays for its 100. The audit has every request, in few rows.
func TestLoad_RevokedKey(t *testing.T) {
	needLoad(t)
	const hostileRate, payingRate, mostRows = 5000, 100, 400
	i := newInstallation(t, smallCompany(), nil)
	r := i.startReader("readapi", map[string]string{"CALLBOARD_PREMIUM_PER_MINUTE": unlimited})
	windows := i.windows(32)
	keys := i.issueKeys(access.TierPremium, windows[0].system, windows[0].system)
	paying, revoked := keys[0], keys[1]
	if _, err := i.registry.Revoke(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	var own []window
	for _, w := range windows {
		if w.system == windows[0].system {
			own = append(own, w)
		}
	}
	pay := func(name string) *results {
		client, answers := newClient(64), newResults(name)
		defer client.CloseIdleConnections()
		paced(t.Context(), payingRate, 64, *periodFlag, func(n int) {
			answers.get(client, r.url+own[n%len(own)].list(), paying.Key.Reveal())
		})
		return answers
	}
	alone := pay("paying key alone")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	refused, done := newResults("revoked key"), make(chan struct{})
	began := time.Now()
	go func() {
		defer close(done)
		client := newClient(64)
		defer client.CloseIdleConnections()
		paced(ctx, hostileRate, 64, *periodFlag, func(int) { refused.get(client, r.url+own[0].list(), revoked.Key.Reveal()) })
	}()
	beside := pay("paying key beside it")
	stop()
	<-done
	elapsed := time.Since(began)
	t.Logf("%v, %.0f requests a second\n%v\n%v, p99 %.2f of that alone", refused, float64(refused.total())/elapsed.Seconds(), alone, beside,
		beside.percentile(99).Seconds()/alone.percentile(99).Seconds())
	for _, answers := range []*results{alone, beside} {
		if n := answers.count(http.StatusOK); n != answers.total() {
			t.Errorf("%v: answers with 200 = %d of %d, want all", answers, n, answers.total())
		}
	}
	if n := refused.count(http.StatusUnauthorized); n != refused.total() {
		t.Errorf("revoked key: answers with 401 = %d of %d, want all", n, refused.total())
	}
	i.checkAudit(revoked.ID, int64(refused.total()), mostRows, elapsed)
}

// checkAudit waits until the audit has a key's requests, and checks the number of its rows and the key's last use.
func (i *installation) checkAudit(key uuid.UUID, sent, mostRows int64, elapsed time.Duration) {
	i.Helper()
	var requests, rows int64
	eventstest.Eventually(i, "the audit has all requests", func() bool {
		requests, rows = i.audited(key)
		return requests >= sent
	})
	if requests != sent || rows > mostRows {
		i.Errorf("audit: requests = %d in %d rows, want %d in at most %d", requests, rows, sent, mostRows)
	}
	bytes := query[int64](i, "select coalesce(sum(pg_column_size(a.*)), 0)::bigint from access.audit a where key_id = $1", key)
	day := 24 * time.Hour.Seconds() / elapsed.Seconds()
	i.Logf("audit: %d requests in %d rows of %d bytes; in a day %.0f rows, %.1f MB", requests, rows, bytes, float64(rows)*day, float64(bytes)*day/1e6)
	last := query[time.Time](i, "select max(coalesce(last_at, at)) from access.audit where key_id = $1", key)
	var used time.Time
	eventstest.Eventually(i, "the key's last use is stored", func() bool {
		used = query[time.Time](i, "select coalesce((select at from access.key_use where key_id = $1), 'epoch')", key)
		return !used.Before(last)
	})
	if !used.Equal(last) {
		i.Errorf("last use = %s, want %s, the last request in the audit", used, last)
	}
}
