package command_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callboard/events/eventstest"
)

// load is clients that request URLs in turn, each of which must be answered with 200. Half of them keep their
// connections, half open one for each request.
type load struct {
	testing.TB
	key     string
	urls    []string
	stop    func() // and waits for the last answers; the end of the test calls it too
	stopped chan struct{}
	answers atomic.Int64 // with status 200

	failing  sync.Mutex
	failures []string
}

// startLoad starts clients with a key, which request the URLs in turn, each 200 times a second.
func startLoad(tb testing.TB, key string, urls ...string) *load {
	tb.Helper()
	const clients, interval = 4, 5 * time.Millisecond
	l := &load{TB: tb, key: key, urls: urls, stopped: make(chan struct{})}
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() { l.run(&http.Transport{DisableKeepAlives: i%2 == 1}, interval) })
	}
	l.stop = sync.OnceFunc(func() {
		close(l.stopped)
		running.Wait()
	})
	tb.Cleanup(l.stop)
	return l
}

func (l *load) run(transport *http.Transport, interval time.Duration) {
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-l.stopped:
			return
		case <-tick.C:
		}
		if err := l.request(client, n); err != nil {
			l.failing.Lock()
			l.failures = append(l.failures, err.Error())
			l.failing.Unlock()
		}
	}
}

// request returns an error unless the status is 200. Its context is not the test's, since a request may outlast a
// failed test.
func (l *load) request(client *http.Client, n int) error {
	url := l.urls[n%len(l.urls)]
	request, err := http.NewRequestWithContext(context.WithoutCancel(l.Context()), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("X-API-Key", l.key)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", url, response.Status, body)
	}
	l.answers.Add(1)
	return nil
}

// awaitAnswers waits for a number of further answers.
func (l *load) awaitAnswers(n int64) {
	l.Helper()
	before := l.answers.Load()
	eventstest.Eventually(l, "more answers", func() bool { return l.answers.Load() >= before+n })
}

// end stops the clients, waits for their last answers, and returns how many there were. The test fails if a request
// failed.
func (l *load) end() int64 {
	l.Helper()
	l.stop()
	if n := len(l.failures); n > 0 {
		l.Errorf("failed requests = %d of %d, want none; the first and the last:\n%s\n%s", n, l.answers.Load(), l.failures[0], l.failures[n-1])
	}
	return l.answers.Load()
}
