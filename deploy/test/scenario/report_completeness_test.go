package scenario_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/readapi/access"
)

// While calls are published and changed, and the projector is stopped and started, consumers read one window after
// another up to the present. Together, the finished windows have every row in its latest version.
func TestReports_FinishedWindowsAreComplete(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := &reportRun{harness: h, system: uuid.New(), floor: time.Now(), progress: sync.NewCond(new(sync.Mutex))}
	h.apply(changed(phoneSystem(d.system, 1, "A"))...)
	d.key = h.systemKey(d.system)
	start := time.Now().Add(-time.Minute)
	consumers := []*consumer{newConsumer(d, "updatedAt", start), newConsumer(d, "createdAt", start)}

	work, ctx := errgroup.WithContext(t.Context())
	defer context.AfterFunc(ctx, d.progress.Broadcast)()
	finished := make(chan struct{}) // closed after the last change
	work.Go(func() error { defer close(finished); return d.write(ctx) })
	work.Go(func() error { return d.interrupt(ctx, consumers) })
	for _, c := range consumers {
		work.Go(func() error { return c.follow(ctx, finished) })
	}
	if err := work.Wait(); err != nil {
		t.Fatal(err)
	}

	want := newConsumer(d, "createdAt", start)
	if err := want.walk(t.Context(), d.present(), 100); err != nil {
		t.Fatal(err)
	}
	if len(want.rows) == 0 || len(want.rows) != len(d.calls) {
		t.Fatalf("rows = %d, want %d", len(want.rows), len(d.calls))
	}
	byUpdated, byCreated := consumers[0], consumers[1]
	for id, row := range want.rows {
		if byUpdated.rows[id] != row {
			t.Errorf("row by updatedAt = %s, want %s", byUpdated.rows[id], row)
		}
		if byCreated.rows[id] == "" {
			t.Errorf("no window by createdAt has %s", id)
		}
	}
	for _, c := range consumers {
		t.Logf("%d calls by %s: %d windows, %d pages, %d of them provisional", len(want.rows), c.timeField, c.windows, c.pages, c.provisional)
	}
}

// reportRun publishes calls and interrupts the projector while consumers read.
type reportRun struct {
	*harness
	system uuid.UUID
	key    access.Key

	publishing sync.Mutex // held while events are published
	calls      []*events.Call
	floor      time.Time // calls that are published from now on were created after it

	progress *sync.Cond // its lock guards the following fields and the consumers' counts
	pages    int        // read by all consumers
	over     bool       // the last interruption is over
}

// await waits until a condition holds. It is checked after every progress.
func (d *reportRun) await(ctx context.Context, holds func() bool) error {
	d.progress.L.Lock()
	defer d.progress.L.Unlock()
	for !holds() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		d.progress.Wait()
	}
	return nil
}

func (d *reportRun) advance(change func()) {
	d.progress.L.Lock()
	defer d.progress.L.Unlock()
	change()
	d.progress.Broadcast()
}

// write publishes a batch for every page that is read, until the last interruption is over.
func (d *reportRun) write(ctx context.Context) error {
	for round, over := 1, false; !over; round++ {
		if err := d.writeBatch(ctx); err != nil {
			return err
		}
		if err := d.await(ctx, func() bool { over = d.over; return over || d.pages >= round }); err != nil {
			return err
		}
	}
	return nil
}

func (d *reportRun) writeBatch(ctx context.Context) error {
	d.publishing.Lock()
	defer d.publishing.Unlock()
	return d.publish(ctx, 1+rand.IntN(2), time.Now())
}

// publish publishes calls that were created before an instant, in random order, and changes of some calls. The
// caller holds publishing.
func (d *reportRun) publish(ctx context.Context, arrivals int, before time.Time) error {
	var batch []events.Event
	for range arrivals {
		c := call(d.system, uuid.New(), 1)
		c.CreatedAt = events.TimeOf(d.floor.Add(rand.N(before.Sub(d.floor) + 1)))
		d.calls = append(d.calls, c)
		batch = append(batch, events.Changed(c))
	}
	for range rand.IntN(4) {
		c := *d.calls[rand.IntN(len(d.calls))]
		c.Version += int64(len(d.calls))
		c.RouteSummary = events.Some(fmt.Sprint("version ", c.Version))
		batch = append(batch, events.Changed(&c))
	}
	return d.Publisher.Publish(ctx, batch...)
}

// interrupt stops the projector until every consumer has read two provisional pages, and starts it until each has
// finished a window.
func (d *reportRun) interrupt(ctx context.Context, consumers []*consumer) error {
	defer d.advance(func() { d.over = true })
	stop := d.stopProjector
	for range 2 {
		if err := d.stopBetweenCalls(ctx, stop); err != nil {
			return err
		}
		if err := d.awaitMore(ctx, consumers, 2, func(c *consumer) int { return c.provisional }); err != nil {
			return err
		}
		stop = d.StartProjector()
		if err := d.awaitMore(ctx, consumers, 1, func(c *consumer) int { return c.windows }); err != nil {
			return err
		}
	}
	return nil
}

// stopBetweenCalls stops the projector between calls of one window: some are applied, and others with an earlier
// createdAt are not.
func (d *reportRun) stopBetweenCalls(ctx context.Context, stop func()) error {
	d.publishing.Lock()
	defer d.publishing.Unlock()
	now := time.Now()
	if err := d.publish(ctx, 50, now); err != nil {
		return err
	}
	if err := d.awaitApplied(ctx); err != nil {
		return err
	}
	stop()
	return d.publish(ctx, 50, now)
}

// awaitApplied waits until the projector has applied everything that is in the stream. Unlike
// [projectortest.Harness.WaitUntilCaughtUp], it may be called from any goroutine.
func (d *reportRun) awaitApplied(ctx context.Context) error {
	info, err := d.Stream.Info(ctx)
	if err != nil {
		return err
	}
	for behind := 1; behind > 0; {
		query := "select $1 - count(*) from projection.position where sequence >= $2"
		if err := d.Pool.QueryRow(ctx, query, d.Partitions, int64(info.State.LastSeq)).Scan(&behind); err != nil {
			return err
		}
	}
	return nil
}

// awaitMore waits until each consumer's count has risen by a number.
func (d *reportRun) awaitMore(ctx context.Context, consumers []*consumer, more int, count func(*consumer) int) error {
	before := make([]int, len(consumers))
	d.advance(func() {
		for i, c := range consumers {
			before[i] = count(c)
		}
	})
	return d.await(ctx, func() bool {
		for i, c := range consumers {
			if count(c) < before[i]+more {
				return false
			}
		}
		return true
	})
}

// consumer follows the reports as customers do.
type consumer struct {
	*reportRun
	timeField string
	from      time.Time
	rows      map[string]string // by id

	windows, pages, provisional int
}

func newConsumer(d *reportRun, timeField string, from time.Time) *consumer {
	return &consumer{reportRun: d, timeField: timeField, from: from, rows: make(map[string]string)}
}

// follow reads windows that end at the present. The last one ends after the last change.
func (c *consumer) follow(ctx context.Context, finished <-chan struct{}) error {
	for last := false; !last; {
		select {
		case <-finished:
			last = true
		default:
		}
		if err := c.walk(ctx, c.present(), 5+rand.IntN(10)); err != nil {
			return err
		}
	}
	return nil
}

// present returns an instant after the creation of all calls so far, all of which are in the stream.
func (d *reportRun) present() time.Time {
	d.publishing.Lock()
	defer d.publishing.Unlock()
	next := time.Now().Truncate(time.Millisecond).Add(time.Millisecond)
	<-time.After(time.Until(next))
	d.floor = next
	return next
}

// walk reads a window to its end.
func (c *consumer) walk(ctx context.Context, until time.Time, limit int) error {
	values := url.Values{
		"timeField": {c.timeField}, "dateFrom": {c.from.UTC().Format(time.RFC3339Nano)}, "dateTo": {until.UTC().Format(time.RFC3339Nano)},
		"limit": {strconv.Itoa(limit)},
	}
	for more := true; more; {
		page, err := c.page(ctx, values)
		if err != nil {
			return err
		}
		for _, row := range page.Data {
			var id struct{ ID string }
			if err := json.Unmarshal(row, &id); err != nil {
				return err
			}
			c.rows[id.ID] = string(row)
		}
		c.advance(func() {
			c.reportRun.pages++
			c.pages++
			if page.completeThrough.Before(until) {
				c.provisional++
			}
			if !page.HasMore {
				c.windows++
			}
		})
		values.Set("cursor", page.NextCursor)
		more = page.HasMore
	}
	c.from = until
	return nil
}

type windowPage struct {
	Data       []json.RawMessage
	NextCursor string
	HasMore    bool

	completeThrough time.Time
}

func (c *consumer) page(ctx context.Context, values url.Values) (page windowPage, err error) {
	target := c.api.URL + "/v1/customer/phone-systems/" + c.system.String() + "/call-log-reports?" + values.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return page, err
	}
	request.Header.Set("X-API-Key", c.key.Reveal())
	response, err := c.api.Client().Do(request)
	if err != nil {
		return page, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return page, fmt.Errorf("%s: status = %s, want 200", target, response.Status)
	}
	if page.completeThrough, err = time.Parse(time.RFC3339, response.Header.Get("Data-Complete-Through")); err != nil {
		return page, err
	}
	return page, json.NewDecoder(response.Body).Decode(&page)
}
