package projector_test

import (
	"context"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/schema/schematest"
)

// newProxiedPool returns a pool whose connections go through a proxy.
func newProxiedPool(t *testing.T, database *schematest.Database) (*pgxpool.Pool, *eventstest.Proxy) {
	t.Helper()
	address, err := url.Parse(database.RoleURL("callboard_projector"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := eventstest.NewProxy(t, address.Host)
	if address.Host = proxy.Addr(); net.ParseIP(address.Hostname()) == nil {
		t.Fatalf("proxy's host = %s, want an address", address.Hostname())
	}
	return schematest.OpenPool(t, address.String()), proxy
}

// newProxiedLocks returns locks whose connection goes through a proxy, and the proxied pool.
func newProxiedLocks(t *testing.T, database *schematest.Database) (*projector.Locks, *pgxpool.Pool, *eventstest.Proxy) {
	t.Helper()
	pool, proxy := newProxiedPool(t, database)
	locks, err := projector.NewLocks(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	return locks, pool, proxy
}

// A server that answers nobody for a while takes no locks away.
func TestLocks_OutlastAStallOfTheServer(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	locks, pool, proxy := newProxiedLocks(t, database)
	defer func() { _ = locks.Close() }()
	if locked, err := locks.TryLock(t.Context(), []int{1}); err != nil || len(locked) != 1 {
		t.Fatalf("locked = %v, %v, want 1", locked, err)
	}
	resume := proxy.Pause()
	answered := make(chan error, 1)
	go func() {
		_, err := locks.TryLock(t.Context(), []int{2})
		answered <- err
	}()
	for range 2 { // each stands for the longest time that a statement took before
		stalled, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if err := pool.Ping(stalled); err == nil {
			t.Error("error of a stalled server = nil, want one")
		}
		cancel()
	}
	select {
	case err := <-answered:
		t.Errorf("the statement ended while the server stalled: error = %v", err)
	default:
	}
	resume()
	if err := <-answered; err != nil {
		t.Errorf("error after the stall = %v, want none", err)
	}
	var owned int
	if err := database.Pool(t).QueryRow(t.Context(), "select count(*) from control.partition_owner").Scan(&owned); err != nil || owned != 2 {
		t.Errorf("partitions with an owner = %d, %v, want 2", owned, err)
	}
}

// A projector that stops doesn't wait for a server that stalls.
func TestLocks_EndWithTheirUserWhileTheServerStalls(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	locks, _, proxy := newProxiedLocks(t, database)
	resume := proxy.Pause()
	defer resume()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := locks.TryLock(ctx, []int{1}); err == nil {
		t.Error("error of a stalled server = nil, want one")
	}
}
