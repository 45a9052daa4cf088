//go:build linux

package load_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/readapi/access"
)

// connections returns the readers' connections to PostgreSQL, each by its process and its start.
func (i *installation) connections() map[string]bool {
	i.Helper()
	rows, _ := i.pool.Query(i.Context(), "select pid || ' ' || backend_start from pg_stat_activity where usename = 'callboard_reader'")
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		i.Fatal(err)
	}
	set := make(map[string]bool)
	for _, c := range list {
		set[c] = true
	}
	return set
}

// Clients that send 1,000 requests a second and leave at once close no connection to PostgreSQL. Each fifth request is one whose statement
// is cancelled. The p99 of light pages is printed, alone and beside them.
func TestLoad_CancelStorm(t *testing.T) {
	needLoad(t)
	const stormRate, lightRate, connections = 1000, 50, 64
	i := newInstallation(t, smallCompany(), nil)
	r := i.startReader("readapi", map[string]string{"CALLBOARD_PREMIUM_PER_MINUTE": unlimited})
	windows := i.windows(32)
	keys := i.keysOf(access.TierPremium, windows)
	light := func(name string, rate int) *results {
		client, answers := newClient(connections), newResults(name)
		defer client.CloseIdleConnections()
		paced(t.Context(), rate, connections, *periodFlag/2, func(n int) {
			answers.get(client, r.url+windows[n%len(windows)].list(), keys[n%len(keys)])
		})
		return answers
	}
	light("as many as open all connections", stormRate)
	before := i.connections()
	alone := light("light pages alone", lightRate)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan struct{})
	var left, failed atomic.Int64
	go func() {
		defer close(done)
		paced(ctx, stormRate, connections, *periodFlag, func(n int) {
			w := windows[n%len(windows)]
			path := w.list()
			switch n % 10 {
			case 0:
				path = w.dimensions()
			case 5:
				path = w.transcripts()
			}
			if err := leave(r.url+path, keys[n%len(keys)]); err != nil {
				failed.Add(1)
			} else {
				left.Add(1)
			}
		})
	}()
	beside := light("light pages beside it", lightRate)
	stop()
	<-done
	t.Logf("requests that were left: %d, not sent: %d; answered with 499: %.0f\n%v\n%v, p99 %.2f of that alone", left.Load(), failed.Load(),
		r.metric("callboard_readapi_requests_total", `status="499"`), alone, beside, beside.percentile(99).Seconds()/alone.percentile(99).Seconds())
	for _, answers := range []*results{alone, beside} {
		if n := answers.count(http.StatusOK); n != answers.total() {
			t.Errorf("%v: answers with 200 = %d of %d, want all", answers, n, answers.total())
		}
	}
	after := i.connections()
	for c := range before {
		if !after[c] {
			t.Errorf("the connection of process %s was closed", c)
		}
	}
	t.Logf("connections to PostgreSQL: %d before, %d after", len(before), len(after))
}

// leave sends a request and closes the connection at once.
func leave(address, key string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(background(), "tcp", u.Host)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nX-API-Key: %s\r\n\r\n", u.RequestURI(), u.Host, key)
	_ = conn.Close() // what counts is whether the request was sent
	return err
}
