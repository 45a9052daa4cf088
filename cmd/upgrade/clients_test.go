package upgrade_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"
)

// clients send requests to the readers in service, one after the other, until they are stopped.
type clients struct {
	urls, keys []string

	mu       sync.RWMutex // held for reading while a request is under way
	readers  []string     // base URLs of those in service
	statuses map[string]int
	err      error
}

const requestInterval = 40 * time.Millisecond

// startClients returns the clients, and a function that stops them.
func startClients(t *testing.T, urls, keys []string, reader string) (c *clients, stop func()) {
	t.Helper()
	c = &clients{urls: urls, keys: keys, readers: []string{reader}, statuses: make(map[string]int)}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.run(ctx) })
	return c, sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
}

func (c *clients) run(ctx context.Context) {
	tick := time.NewTicker(requestInterval)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.request(n)
		}
	}
}

func (c *clients) request(n int) {
	c.mu.RLock()
	reader := c.readers[n%len(c.readers)]
	url := reader + c.urls[n%len(c.urls)]
	status, err := get(url, c.keys[n%len(c.keys)])
	c.mu.RUnlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statuses[fmt.Sprintf("%d of %s", status, reader)]++
	if err != nil {
		c.err = errors.Join(c.err, err)
	}
}

// get returns an error unless the answer is 200.
func get(url, key string) (status int, err error) {
	// Not the test's context: a request that is under way when the test stops the clients is finished.
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("X-API-Key", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status = %d, want 200: %s", url, response.StatusCode, body)
	}
	return response.StatusCode, err
}

// use changes which readers are in service, as a load balancer does. No request is under way to the others when it returns.
func (c *clients) use(readers ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readers = readers
}

// answered returns the number of answers so far.
func (c *clients) answered() (n int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, count := range c.statuses {
		n += count
	}
	return n
}
