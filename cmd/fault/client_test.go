package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// client asks readers over HTTP.
type client struct {
	http *http.Client
}

func newClient(tb testing.TB) *client {
	tb.Helper()
	c := &client{&http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	tb.Cleanup(c.http.CloseIdleConnections)
	return c
}

// answer is a whole one.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// get asks for what is at the URL, or if there is a tag for whether that is another one now.
func (c *client) get(ctx context.Context, url string, key access.Key, tag string) (a answer, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return a, err
	}
	request.Header.Set("X-API-Key", key.Reveal())
	if tag != "" {
		request.Header.Set("If-None-Match", tag)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	a.status, a.header = response.StatusCode, response.Header
	a.body, err = io.ReadAll(response.Body)
	return a, err
}

// clients are all who read while things break, and what they complain about.
type clients struct {
	stage  *stage
	client *client
	all    sync.WaitGroup
	over   chan struct{} // closed when nothing more will change
	last   time.Time     // when the last change was, then
	walks  []*walk
	strict bool // they put up with no refusal

	mu         sync.Mutex
	statuses   map[int]int // 0: cut off by a reader's end
	complaints int
}

func newClients(s *stage) *clients {
	return &clients{stage: s, client: newClient(s.tb), over: make(chan struct{}), statuses: map[int]int{}}
}

// follow lets somebody follow a phone system's reports.
func (c *clients) follow(ctx context.Context, system uuid.UUID) {
	w := newWalk(c, system)
	c.walks = append(c.walks, w)
	c.all.Go(func() { w.run(ctx) })
}

// every does something again and again until ctx ends or nothing more will change.
func (c *clients) every(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.over:
			return
		case <-tick.C:
			do()
		}
	}
}

// answers is how many there were.
func (c *clients) answers() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, count := range c.statuses {
		n += count
	}
	return n
}

// attend lets clients read: one poller for each reader, and for each phone system one that follows its reports.
func (s *stage) attend() *clients {
	s.tb.Helper()
	ctx, cancel := context.WithCancel(s.tb.Context())
	c := newClients(s)
	for _, r := range s.readers {
		p := newPoll(c, r)
		c.all.Go(func() { p.run(ctx) })
	}
	for _, system := range s.feed.systems() {
		c.follow(ctx, system)
	}
	s.tb.Cleanup(func() {
		cancel()
		c.all.Wait()
	})
	return c
}

// ask asks a reader and waits for an answer that can be used; ok is false where there is none, for reasons that clients are told to
// put up with. Whatever else comes is a complaint.
func (c *clients) ask(ctx context.Context, r *reader, path string, key access.Key, tag string, good ...int) (got answer, ok bool) {
	at := r.at.Load()
	if at == nil {
		return got, false
	}
	got, err := c.client.get(ctx, at.url+path, key, tag)
	switch {
	case ctx.Err() != nil:
	case err != nil && r.at.Load() == at:
		c.complain("%s%s: %v, and the reader was alive", r.name, path, err)
	case err != nil:
		c.count(0)
	default:
		c.count(got.status)
		if got.status != http.StatusOK && !slices.Contains(good, got.status) && !c.bears(got) {
			c.complain("%s%s: %d %s", r.name, path, got.status, got.body)
		}
		return got, got.status == http.StatusOK
	}
	return got, false
}

// bears tells whether the clients put up with an answer. Even strict ones do where a limiter, which is given 50 ms, has not been heard
// on a busy machine; then nothing is known of a budget.
func (c *clients) bears(got answer) bool {
	if c.strict {
		return got.status == http.StatusTooManyRequests && got.header.Get("RateLimit") == ""
	}
	return got.status == http.StatusTooManyRequests || got.status == http.StatusServiceUnavailable
}

func (c *clients) count(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statuses[status]++
}

// complain fails the test. Ten complaints are heard.
func (c *clients) complain(format string, values ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.complaints++; c.complaints <= 10 {
		c.stage.tb.Errorf("complaint: %.600s", fmt.Sprintf(format, values...))
	}
}

// leave lets the clients read to the end of what has happened, and hears their complaints.
func (c *clients) leave() {
	s := c.stage
	s.tb.Helper()
	s.caughtUp()
	if err := s.pool.QueryRow(s.tb.Context(), "select max(clock) from projection.position").Scan(&c.last); err != nil {
		s.tb.Fatal(err)
	}
	close(c.over)
	done := make(chan struct{})
	go func() { c.all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		s.tb.Fatal("the clients don't come to an end")
	}
	rows := 0
	for _, w := range c.walks {
		rows += w.examine()
	}
	windows, again, provisional := 0, 0, 0
	for _, w := range c.walks {
		windows, again, provisional = windows+w.windows, again+w.again, provisional+w.provisional
	}
	s.figures.total("%d report rows followed through %d windows, %d of them walked again, with %d provisional pages", rows, windows, again, provisional)
	s.figures.total("%d complaints; answers by status (0: cut off by a kill): %v", c.complaints, c.statuses)
}
