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

// While calls arrive and change, and the projector is stopped and started, consumers walk one window after another up to the
// present. What their finished windows hold together is what there is: no row missing, none outdated.
func TestReports_FinishedWindowsAreComplete(t *testing.T) {
	s := newStage(t)
	d := &drama{stage: s, system: uuid.New(), floor: time.Now(), progress: sync.NewCond(new(sync.Mutex))}
	s.happen(changed(phoneSystem(d.system, 1, "A"))...)
	d.key = s.systemKey(d.system)
	began := time.Now().Add(-time.Minute)
	consumers := []*consumer{newConsumer(d, "updatedAt", began), newConsumer(d, "createdAt", began)}

	work, ctx := errgroup.WithContext(t.Context())
	defer context.AfterFunc(ctx, d.progress.Broadcast)()
	over := make(chan struct{}) // nothing more will change
	work.Go(func() error { defer close(over); return d.write(ctx) })
	work.Go(func() error { return d.interrupt(ctx, consumers) })
	for _, c := range consumers {
		work.Go(func() error { return c.follow(ctx, over) })
	}
	if err := work.Wait(); err != nil {
		t.Fatal(err)
	}

	truth := newConsumer(d, "createdAt", began)
	if err := truth.walk(t.Context(), d.present(), 100); err != nil {
		t.Fatal(err)
	}
	if len(truth.rows) == 0 || len(truth.rows) != len(d.calls) {
		t.Fatalf("%d rows of %d calls", len(truth.rows), len(d.calls))
	}
	byUpdate, byCreation := consumers[0], consumers[1]
	for id, row := range truth.rows {
		if byUpdate.rows[id] != row {
			t.Errorf("by updatedAt:\n%s, want\n%s", byUpdate.rows[id], row)
		}
		if byCreation.rows[id] == "" {
			t.Errorf("by createdAt: %s is missing", id)
		}
	}
	for _, c := range consumers {
		t.Logf("%d calls by %s: %d windows, %d pages, %d of them provisional", len(truth.rows), c.timeField, c.windows, c.pages, c.provisional)
	}
}

// drama is what goes on while consumers read.
type drama struct {
	*stage
	system uuid.UUID
	key    access.Key

	publishing sync.Mutex // held while what was created is on its way into the stream
	calls      []*events.Call
	floor      time.Time // the newest present: what arrives from now on was created after it, in any order

	progress *sync.Cond // guards what follows and the consumers' counts
	pages    int        // read by all consumers
	over     bool       // the last interruption is past
}

// await returns once a condition holds. It is asked again whenever there is progress.
func (d *drama) await(ctx context.Context, holds func() bool) error {
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

func (d *drama) advance(change func()) {
	d.progress.L.Lock()
	defer d.progress.L.Unlock()
	change()
	d.progress.Broadcast()
}

// write lets calls arrive and change, a round for every page that is read, until the last interruption is past.
func (d *drama) write(ctx context.Context) error {
	for round, over := 1, false; !over; round++ {
		if err := d.trickle(ctx); err != nil {
			return err
		}
		if err := d.await(ctx, func() bool { over = d.over; return over || d.pages >= round }); err != nil {
			return err
		}
	}
	return nil
}

func (d *drama) trickle(ctx context.Context) error {
	d.publishing.Lock()
	defer d.publishing.Unlock()
	return d.publish(ctx, 1+rand.IntN(2), time.Now())
}

// publish lets so many calls arrive that were created before an instant, in no order, and some of all calls change. The caller
// holds publishing.
func (d *drama) publish(ctx context.Context, arrivals int, before time.Time) error {
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
	return d.publisher.Publish(ctx, batch...)
}

// interrupt stops the projector until every consumer has been given two provisional pages, and starts it until each has finished
// a window, three times.
func (d *drama) interrupt(ctx context.Context, consumers []*consumer) error {
	defer d.advance(func() { d.over = true })
	stop := d.stopProjector
	for range 3 {
		if err := d.strand(ctx, stop); err != nil {
			return err
		}
		if err := d.awaitMore(ctx, consumers, 2, func(c *consumer) int { return c.provisional }); err != nil {
			return err
		}
		stop = d.project()
		if err := d.awaitMore(ctx, consumers, 1, func(c *consumer) int { return c.windows }); err != nil {
			return err
		}
	}
	return nil
}

// strand stops the projector between calls that belong to one window, whichever is walked next: some are in the tables, and
// others, created before them, are not.
func (d *drama) strand(ctx context.Context, stop func()) error {
	d.publishing.Lock()
	defer d.publishing.Unlock()
	now := time.Now()
	if err := d.publish(ctx, 50, now); err != nil {
		return err
	}
	if err := d.settled(ctx); err != nil {
		return err
	}
	stop()
	return d.publish(ctx, 50, now)
}

// awaitMore returns once each consumer's count has risen by so many.
func (d *drama) awaitMore(ctx context.Context, consumers []*consumer, more int, count func(*consumer) int) error {
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

// consumer follows the reports as their customers do.
type consumer struct {
	*drama
	timeField string
	from      time.Time
	rows      map[string]string // by id, upserted

	windows, pages, provisional int
}

func newConsumer(d *drama, timeField string, from time.Time) *consumer {
	return &consumer{drama: d, timeField: timeField, from: from, rows: make(map[string]string)}
}

// follow walks windows that end at the present, the last of them after everything was written.
func (c *consumer) follow(ctx context.Context, over <-chan struct{}) error {
	for last := false; !last; {
		select {
		case <-over:
			last = true
		default:
		}
		if err := c.walk(ctx, c.present(), 5+rand.IntN(10)); err != nil {
			return err
		}
	}
	return nil
}

// present is an instant before which all lies that was created by now, and all of that is in the stream.
func (d *drama) present() time.Time {
	d.publishing.Lock()
	defer d.publishing.Unlock()
	next := time.Now().Truncate(time.Millisecond).Add(time.Millisecond)
	<-time.After(time.Until(next))
	d.floor = next
	return next
}

// walk reads the window that ends at an instant to its end.
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
			c.drama.pages++
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

type reportPage struct {
	Data       []json.RawMessage
	NextCursor string
	HasMore    bool

	completeThrough time.Time
}

func (c *consumer) page(ctx context.Context, values url.Values) (page reportPage, err error) {
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
		return page, fmt.Errorf("%s: %s", target, response.Status)
	}
	if page.completeThrough, err = time.Parse(time.RFC3339, response.Header.Get("Data-Complete-Through")); err != nil {
		return page, err
	}
	return page, json.NewDecoder(response.Body).Decode(&page)
}
