package main_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
)

// customers ask a reader, several at once, until they are told to stop.
type customers struct {
	stop chan struct{}
	all  sync.WaitGroup

	mu       sync.Mutex
	answered []string // the ids of the requests that got an answer
}

func call(base, key, name string) *customers {
	c := &customers{stop: make(chan struct{})}
	for i := range 4 {
		c.all.Go(func() { c.ask(base, key, fmt.Sprintf("%s-%d", name, i)) })
	}
	return c
}

func (c *customers) ask(base, key, name string) {
	client := &http.Client{Timeout: patience, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for n := 0; ; n++ {
		select {
		case <-c.stop:
			return
		default:
		}
		id := fmt.Sprintf("%s-%d", name, n)
		// What is unavailable may be so before anybody knows whose request it is.
		if status := asked(client, base, key, id); status != 0 && status != http.StatusServiceUnavailable {
			c.mu.Lock()
			c.answered = append(c.answered, id)
			c.mu.Unlock()
		}
	}
}

func (c *customers) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.answered)
}

// more waits until so many more requests have been answered.
func (c *customers) more(tb testing.TB, n int) {
	tb.Helper()
	want := c.count() + n
	eventually(tb, func() error {
		if got := c.count(); got < want {
			return fmt.Errorf("%d of %d requests answered", got, want)
		}
		return nil
	})
}

func (c *customers) end() []string {
	close(c.stop)
	c.all.Wait()
	return c.answered
}

// Projectors are killed and NATS is restarted while customers ask: the audit has every request that was answered, once.
func TestAudit_SurvivesProjectorsAndNATS(t *testing.T) {
	f := newFleet(t)
	key := f.key()
	r, p := f.reader(), f.projector()
	asking := call(r.base, key, "a")
	for i := range 6 {
		asking.more(t, 150)
		if i%2 == 0 {
			p.stop(syscall.SIGKILL)
			asking.more(t, 150)
			p = f.projector()
		} else {
			f.nats.Stop()
			asking.more(t, 150)
			f.nats.Start()
		}
	}
	ids := asking.end()
	eventually(t, func() error { return f.missing(ids) })
	t.Logf("%d requests answered and recorded once", len(ids))
	if code := r.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// A reader that is killed loses what NATS had not acknowledged, and nothing else. One that is told to stop loses nothing.
func TestAudit_KilledReader(t *testing.T) {
	f := newFleet(t)
	key := f.key()
	f.projector()
	r := f.reader()
	asking := call(r.base, key, "killed")
	asking.more(t, 300)
	eventually(t, func() error {
		if r.metric("callboard_readapi_audit_acknowledged_total") == 0 {
			return errors.New("nothing is acknowledged")
		}
		return nil
	})
	acknowledged := r.metric("callboard_readapi_audit_acknowledged_total")
	r.stop(syscall.SIGKILL)
	lost := asking.end()
	eventually(t, func() error {
		if n := len(f.audited()); n < acknowledged {
			return fmt.Errorf("%d of %d acknowledged entries", n, acknowledged)
		}
		return nil
	})

	gentle := f.reader()
	asking = call(gentle.base, key, "stopped")
	asking.more(t, 300)
	if code := gentle.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d", code)
	}
	ids := asking.end()
	eventually(t, func() error { return f.missing(ids) })
	times := f.audited()
	gone := 0
	for _, id := range lost {
		if times[id] == 0 {
			gone++
		}
	}
	t.Logf("killed: %d of %d answered requests lost, %d were acknowledged; stopped: none of %d lost", gone, len(lost), acknowledged, len(ids))
	if len(lost)-gone < acknowledged-4 { // four requests may have been recorded and not answered
		t.Errorf("%d of %d acknowledged", len(lost)-gone, acknowledged)
	}
}

// A reader that is there before NATS answers, and hands over what it has recorded once NATS is there too.
func TestAudit_ReaderBeforeNATS(t *testing.T) {
	f := newFleet(t)
	key := f.key()
	f.nats.Stop()
	r := f.reader()
	client := &http.Client{Timeout: patience}
	if status := asked(client, r.base, key, "before"); status != http.StatusOK {
		t.Errorf("%d", status)
	}
	eventually(t, func() error {
		if n := r.metric("callboard_readapi_audit_waiting"); n != 1 {
			return fmt.Errorf("%d entries wait", n)
		}
		return nil
	})
	f.nats.Start()
	f.projector()
	eventually(t, func() error { return f.missing([]string{"before"}) })
}
