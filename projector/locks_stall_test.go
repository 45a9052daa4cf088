package projector_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/schema/schematest"
)

// newProxiedLocks returns locks whose connection goes through a proxy.
func newProxiedLocks(t *testing.T, database *schematest.Database) (*projector.Locks, *eventstest.Proxy) {
	t.Helper()
	address, err := url.Parse(database.RoleURL("callboard_projector"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := eventstest.NewProxy(t, address.Host)
	address.Host = proxy.Addr()
	locks, err := projector.NewLocks(t.Context(), schematest.OpenPool(t, address.String()))
	if err != nil {
		t.Fatal(err)
	}
	return locks, proxy
}

// A server that answers nobody for a while takes no locks away.
func TestLocks_OutlastAStallOfTheServer(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	locks, proxy := newProxiedLocks(t, database)
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
	select {
	case err := <-answered:
		t.Errorf("the statement ended while the server stalled: error = %v", err)
	case <-time.After(time.Second):
	}
	resume()
	if err := <-answered; err != nil {
		t.Errorf("error after the stall = %v, want none", err)
	}
	const owners = "select count(*) from control.partition_owner"
	if owned := schematest.QueryOne[int](t, database.Pool(t), owners); owned != 2 {
		t.Errorf("partitions with an owner = %d, want 2", owned)
	}
}

// A projector that stops doesn't wait for a server that stalls.
func TestLocks_EndWithTheirUserWhileTheServerStalls(t *testing.T) {
	eventstest.Long(t)
	t.Parallel()
	database := schematest.New(t)
	locks, proxy := newProxiedLocks(t, database)
	resume := proxy.Pause()
	defer resume()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := locks.TryLock(ctx, []int{1}); err == nil {
		t.Error("error of a stalled server = nil, want one")
	}
}
