package main

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

// load is clients that request URLs in turn. Half of them keep their connections, half open one for each request. They stop when the
// reader says that it is not ready, as a load balancer does.
type load struct {
	testing.TB
	key     string
	urls    []string
	done    chan struct{} // closed: the clients stop
	clients sync.WaitGroup
	answers atomic.Int64 // with status 200

	mu       sync.Mutex
	failures []string
}

const loadClients = 4

func startLoad(tb testing.TB, key string, urls ...string) *load {
	tb.Helper()
	l := &load{TB: tb, key: key, urls: urls, done: make(chan struct{})}
	for i := range loadClients {
		l.clients.Go(func() { l.run(&http.Transport{DisableKeepAlives: i%2 == 0}) })
	}
	return l
}

func (l *load) run(transport *http.Transport) {
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-l.done:
			return
		case <-tick.C:
		}
		if err := l.request(client, l.urls[i%len(l.urls)]); err != nil {
			l.mu.Lock()
			l.failures = append(l.failures, err.Error())
			l.mu.Unlock()
		}
	}
}

// request returns an error unless the status is 200. Its context is not the test's, since a request may outlast a failed test.
func (l *load) request(client *http.Client, url string) error {
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

// goesOn waits for more answers.
func (l *load) goesOn() {
	l.Helper()
	before := l.answers.Load()
	eventstest.Eventually(l, "more answers", func() bool { return l.answers.Load() >= before+100 })
}

// stop stops the clients, waits for their last answers, and returns how many there were. The test fails if a request failed.
func (l *load) stop() int64 {
	l.Helper()
	close(l.done)
	l.clients.Wait()
	if n := len(l.failures); n > 0 {
		l.Errorf("failed requests = %d of %d, want none; the first and the last:\n%s\n%s", n, l.answers.Load(), l.failures[0], l.failures[n-1])
	}
	return l.answers.Load()
}
