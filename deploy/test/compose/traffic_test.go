package compose

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// requestsPerSecond is the rate of the traffic. A premium key may make ten per second.
const requestsPerSecond = 200

// traffic is a constant rate of requests with several keys. It does not depend on the answers.
type traffic struct {
	url      string
	keys     []string
	rate     int
	client   *http.Client
	stop     context.CancelFunc
	inFlight atomic.Int64
	running  sync.WaitGroup

	mu       sync.Mutex
	answered int
	failures map[string]int // by what failed
	first    time.Time      // of the failures
	last     time.Time
	slowest  time.Duration
}

func startTraffic(t *testing.T, url string, keys []string) *traffic {
	t.Helper()
	return startTrafficAt(t, requestsPerSecond, url, keys)
}

// startTrafficAt is startTraffic with another rate, in requests per second.
func startTrafficAt(t *testing.T, rate int, url string, keys []string) *traffic {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	tr := &traffic{
		url: url, keys: keys, rate: rate, stop: cancel, failures: map[string]int{},
		client: &http.Client{
			Timeout:   15 * time.Second,
			Transport: &http.Transport{MaxIdleConnsPerHost: rate, IdleConnTimeout: 20 * time.Second},
		},
	}
	tr.running.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				tr.running.Go(func() { tr.request(keys[n%len(keys)]) })
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		tr.running.Wait()
		tr.client.CloseIdleConnections()
	})
	return tr
}

// waitUntilFlowing waits for the answers of a second.
func (tr *traffic) waitUntilFlowing(t *testing.T) {
	t.Helper()
	eventually(t, "traffic flows", func() bool { return tr.count() > tr.rate })
}

// request outlives the end of the traffic: a request that was sent is answered.
func (tr *traffic) request(key string) {
	tr.inFlight.Add(1)
	defer tr.inFlight.Add(-1)
	started := time.Now()
	err := get(context.Background(), tr.client, tr.url, key)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.answered++
	tr.slowest = max(tr.slowest, time.Since(started))
	if err != nil {
		tr.failures[err.Error()]++
		tr.last = time.Now()
		if tr.first.IsZero() {
			tr.first = tr.last
		}
	}
}

// count is the number of requests that were answered, or failed.
func (tr *traffic) count() int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.answered
}

// get fails unless the answer is 200 and complete.
func get(ctx context.Context, client *http.Client, url, key string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("X-API-Key", key)
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
		_, code, _ := strings.Cut(string(body), `"code":"`)
		code, _, _ = strings.Cut(code, `"`)
		return fmt.Errorf("%d %s", response.StatusCode, code)
	}
	return nil
}

// end stops the traffic, waits for its answers and returns the number of failures.
func (tr *traffic) end(t *testing.T, what string) int {
	t.Helper()
	tr.stop()
	tr.running.Wait()
	failed := 0
	for n := range maps.Values(tr.failures) {
		failed += n
	}
	t.Logf("%s: %d requests, %d failed, slowest %s, load average %s", what, tr.answered, failed, tr.slowest.Round(time.Millisecond), loadAverage())
	for _, failure := range slices.Sorted(maps.Keys(tr.failures)) {
		t.Logf("  %d times: %s", tr.failures[failure], failure)
	}
	if failed > 0 {
		t.Logf("  from the first to the last failure: %s", tr.last.Sub(tr.first).Round(time.Millisecond))
	}
	return failed
}
