//go:build linux

package load_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// background is the context of what outlives a test's own context.
func background() context.Context { return context.Background() }

// newClient returns a client that keeps a number of connections, which it closes when it is told to.
func newClient(connections int) *http.Client {
	return &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections, DisableCompression: true,
	}}
}

// get requests a URL and reads the answer.
func get(ctx context.Context, client *http.Client, url, key string) (status int, body []byte, err error) {
	response, err := open(ctx, client, url, key)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// open requests a URL. The caller closes the answer's body.
func open(ctx context.Context, client *http.Client, url, key string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if key != "" {
		request.Header.Set("X-API-Key", key)
	}
	return client.Do(request)
}

// results are the answers to a kind of request. It is safe for concurrent use.
type results struct {
	name string

	mu       sync.Mutex
	statuses map[int]int // 0: no answer
	took     []time.Duration
	lastErr  error
}

func newResults(name string) *results { return &results{name: name, statuses: make(map[int]int)} }

// add counts an answer; an answer that was not read to its end has the status 0.
func (r *results) add(status int, took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		status, r.lastErr = 0, err
	}
	r.statuses[status]++
	r.took = append(r.took, took)
}

func percentile(list []time.Duration, p int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// String returns the answers by status, and the percentiles.
func (r *results) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d requests", r.name, len(r.took))
	for _, status := range slices.Sorted(maps.Keys(r.statuses)) {
		fmt.Fprintf(&b, ", %d: %d", status, r.statuses[status])
	}
	fmt.Fprintf(&b, ", p50 %s, p99 %s", rounded(percentile(r.took, 50)), rounded(percentile(r.took, 99)))
	if r.lastErr != nil {
		fmt.Fprintf(&b, ", last error: %v", r.lastErr)
	}
	return b.String()
}

func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// median returns the middle of a list, which is not empty.
func median[T cmp.Ordered](list []T) T { return slices.Sorted(slices.Values(list))[len(list)/2] }

// paced calls once at a rate per second, from a number of goroutines, until the period has passed or ctx ends. It
// returns when all calls have returned. If all goroutines are busy, calls are late, and none is left out while the
// period lasts.
func paced(ctx context.Context, rate, goroutines int, period time.Duration, once func(n int)) {
	due := make(chan int, goroutines)
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for n := range due {
				once(n)
			}
		})
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	began, sent := time.Now(), 0
	for elapsed := time.Duration(0); elapsed < period && ctx.Err() == nil; elapsed = time.Since(began) {
		for ; sent < int(elapsed.Seconds()*float64(rate)); sent++ {
			due <- sent
		}
		<-tick.C
	}
	close(due)
	all.Wait()
}

// inParallel calls once for 0 to n-1 at the same time, and returns when all calls have returned.
func inParallel(n int, once func(n int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { once(i) })
	}
	all.Wait()
}
