package projector_test

import (
	"cmp"
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

// newProxiedLocks returns locks whose connection goes through a proxy, and the proxied pool. others tells whether the server answers; nil:
// that pool.
func newProxiedLocks(t *testing.T, database *schematest.Database, others *pgxpool.Pool) (*projector.Locks, *pgxpool.Pool, *eventstest.Proxy) {
	t.Helper()
	pool, proxy := newProxiedPool(t, database)
	locks, err := projector.NewLocks(t.Context(), pool, cmp.Or(others, pool))
	if err != nil {
		t.Fatal(err)
	}
	return locks, pool, proxy
}

// A server that answers nobody for a while takes no locks away.
func TestLocks_OutlastAStallOfTheServer(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	locks, pool, proxy := newProxiedLocks(t, database, nil)
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

// A connection on which nothing comes back, of a server that answers others, is broken.
func TestLocks_EndWithASilentConnection(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	direct := database.RolePool(t, "callboard_projector")
	locks, _, proxy := newProxiedLocks(t, database, direct)
	resume := proxy.Pause()
	defer resume()
	if _, err := locks.TryLock(t.Context(), []int{1}); err == nil {
		t.Error("error of a silent connection = nil, want one")
	}
}

// A projector that stops doesn't wait for a server that stalls.
func TestLocks_EndWithTheirUserWhileTheServerStalls(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	locks, _, proxy := newProxiedLocks(t, database, nil)
	resume := proxy.Pause()
	defer resume()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := locks.TryLock(ctx, []int{1}); err == nil {
		t.Error("error of a stalled server = nil, want one")
	}
}
