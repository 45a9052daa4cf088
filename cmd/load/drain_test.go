//go:build linux

package load_test

import (
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"callboard/events/eventstest"
	"callboard/readapi/access"
)

// balancer distributes requests to the readers that were ready at its last look, as a load balancer does.
type balancer struct {
	readers []*reader

	mu    sync.Mutex
	ready []*reader
	turn  int
}

// look asks every reader whether it is ready.
func (b *balancer) look() {
	ready := slices.DeleteFunc(slices.Clone(b.readers), func(r *reader) bool {
		status, _, err := get(background(), http.DefaultClient, r.admin+"/readyz", "")
		return err != nil || status != http.StatusOK
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = ready
}

// next returns the next reader, nil if none is ready.
func (b *balancer) next() *reader {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.ready) == 0 {
		return nil
	}
	b.turn++
	return b.ready[b.turn%len(b.ready)]
}

// A reader that ends, one of two behind a load balancer that looks at /readyz each second, fails none of 1,000 requests a second. The
// audit has all of them.
func TestLoad_Drain(t *testing.T) {
	needLoad(t)
	const rate, connections = 1000, 64
	i := newInstallation(t, smallCompany(), nil)
	settings := map[string]string{"CALLBOARD_PREMIUM_PER_MINUTE": unlimited, "CALLBOARD_DRAIN": "5s"}
	b := &balancer{readers: []*reader{i.startReader("readapi-1", settings), i.startReader("readapi-2", settings)}}
	windows := i.windows(32)
	keys := i.keysOf(access.TierPremium, windows)
	b.look()
	looking, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looking)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				b.look()
			}
		}
	}()
	client, answers := newClient(connections), newResults("requests")
	defer client.CloseIdleConnections()
	time.AfterFunc(*periodFlag/4, func() { _ = syscall.Kill(b.readers[0].PID(), syscall.SIGTERM) })
	paced(t.Context(), rate, connections, *periodFlag, func(n int) {
		if r := b.next(); r == nil {
			answers.add(0, 0, http.ErrServerClosed)
		} else {
			answers.get(client, r.url+windows[n%len(windows)].list(), keys[n%len(keys)])
		}
	})
	close(stop)
	<-looking
	code := b.readers[0].Wait(time.Minute)
	t.Log(answers)
	if n := answers.count(http.StatusOK); n != answers.total() {
		t.Errorf("answers with 200 = %d of %d, want all", n, answers.total())
	}
	if code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	var audited int64
	eventstest.Eventually(t, "the audit has all requests", func() bool {
		audited = query[int64](i, "select coalesce(sum(count), 0)::bigint from access.audit")
		return audited >= int64(answers.total())
	})
	if audited != int64(answers.total()) {
		t.Errorf("requests in the audit = %d, want %d", audited, answers.total())
	}
}
