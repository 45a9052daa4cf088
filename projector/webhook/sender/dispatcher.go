package sender

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/projector/webhook/egress"
)

const (
	// leaseTime is for how long a lease lasts that is not renewed.
	leaseTime = 10 * time.Second

	// A lease of an endpoint with requests in flight is renewed when renewWithin is left of it. None starts in the last
	// leaseMargin, so that there is always a look between a start and the end of the lease.
	renewWithin = 5 * time.Second
	leaseMargin = 2 * time.Second

	// forgetAfter is for how long connections to an endpoint are kept after the last request.
	forgetAfter = 2 * time.Minute

	// recordWithin is how long a sender that stops tries to record outcomes after its requests have ended.
	recordWithin = 5 * time.Second
)

// dispatcher sends the deliveries of the endpoints that a sender has leased. One goroutine runs it: it executes every
// statement, on a session that has the leases. Requests run beside it and report their outcomes.
type dispatcher struct {
	*Sender
	conn      *pgx.Conn // nil: there is no session
	backOff   *backoff.ExponentialBackOff
	retryAt   time.Time // of the session, after an error
	endpoints map[uuid.UUID]*endpoint
	share     int         // the most endpoints to lease
	hinted    []uuid.UUID // have got deliveries, and are not leased
	lookedAt  time.Time   // at all that is due

	outcomes chan outcome
	ended    []outcome // not recorded
	busy     int       // requests in flight, and outcomes that are not recorded
}

func newDispatcher(s *Sender) *dispatcher {
	return &dispatcher{
		Sender: s, backOff: newBackOff(), endpoints: make(map[uuid.UUID]*endpoint),
		outcomes: make(chan outcome, s.config.InFlight),
	}
}

// run sends until ctx ends, and returns once the requests have ended and their outcomes are recorded.
func (d *dispatcher) run(ctx context.Context) {
	// Requests go on when ctx ends, until their time is over.
	requests, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	defer d.disconnect()

	look := time.NewTicker(d.config.Poll)
	defer look.Stop()

	stop := ctx.Done()
	var deadline <-chan time.Time

	for ctx.Err() == nil || d.busy > 0 {
		select {
		case <-stop:
			// Requests get the time that each may take, and their outcomes a little more.
			stop = nil
			defer time.AfterFunc(d.config.Timeout, abandon).Stop()
			deadline = time.After(d.config.Timeout + recordWithin)

		case <-deadline:
			return

		case ids := <-d.due:
			d.hint(ids)
		case <-look.C:
		case o := <-d.outcomes:
			d.finish(o)
		}

		// After an error, the dispatcher uses no session until the next try.
		if time.Now().Before(d.retryAt) {
			continue
		}

		if err := d.advance(ctx, requests); err != nil {
			d.retryAt = time.Now().Add(d.backOff.NextBackOff())
			d.config.Log.Error().Err(err).Dur("retry_in", time.Until(d.retryAt)).Msg("webhook session lost")
			d.disconnect()
		}
	}
}

// advance records what has ended, and starts what can start now. A sender that stops starts nothing, and keeps its
// leases.
func (d *dispatcher) advance(ctx, requests context.Context) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTime)
	defer cancel()

	// Outcomes are recorded first, because each one makes room for another request.
	for range len(d.outcomes) {
		d.finish(<-d.outcomes)
	}

	if err := d.connect(limited); err != nil {
		return err
	}
	if err := d.record(limited); err != nil {
		return fmt.Errorf("record attempts: %w", err)
	}

	look := time.Since(d.lookedAt) >= d.config.Poll
	if look {
		if err := d.keepLeases(limited); err != nil {
			return fmt.Errorf("keep leases: %w", err)
		}
		d.lookedAt = time.Now()
		d.backOff.Reset()
	}

	if ctx.Err() != nil {
		return nil
	}

	if err := d.lease(limited, look); err != nil {
		return fmt.Errorf("lease endpoints: %w", err)
	}
	if err := d.send(limited, requests); err != nil {
		return fmt.Errorf("due deliveries: %w", err)
	}

	if look {
		now := time.Now()
		d.readyAt.Store(&now)
		d.metrics.setEndpoints(d.endpoints)
	}
	return nil
}

// connect opens the session that has the leases, unless it is there.
func (d *dispatcher) connect(ctx context.Context) error {
	if d.conn != nil {
		return nil
	}
	conn, err := d.config.Database.Acquire(ctx)
	if err != nil {
		return err
	}
	d.conn = conn.Hijack()
	_, err = d.conn.Exec(ctx, "select set_config('application_name', 'leases:' || current_setting('application_name'), "+
		"false)")
	return err
}

// disconnect ends the session, and with it the leases. Requests in flight go on.
func (d *dispatcher) disconnect() {
	d.lookedAt, d.hinted = time.Time{}, nil
	for _, e := range d.endpoints {
		e.leased, e.leaving = time.Time{}, false
	}
	if d.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = d.conn.Close(ctx)
		d.conn = nil
	}
}

// endpoint is what a dispatcher knows of an endpoint to which it has sent lately.
type endpoint struct {
	id      uuid.UUID
	leased  time.Time          // until when; zero: another sender may have it
	leaving bool               // it starts nothing, so that the lease can end
	more    bool               // it may have due deliveries that are not in flight
	busy    map[int64]struct{} // deliveries in flight or without a recorded outcome
	usedAt  time.Time          // when the last request began

	url         string
	concurrency int
	connection  *egress.Endpoint // nil: the URL is refused, as refused says
	refused     error
	noSecret    bool // a key is missing, and deliveries wait

	health health
}

// sends tells whether requests to an endpoint may start.
func (e *endpoint) sends(now time.Time) bool {
	return !e.leaving && now.Before(e.leased.Add(-leaseMargin))
}

var (
	//go:embed lease.sql
	leaseSQL string

	//go:embed share.sql
	shareSQL string
)

// setLeasesSQL renews leases, or ends them at once.
const setLeasesSQL = `
	update webhook.endpoint e
	set leased_until = now() + $2::interval
	from (
	  select id
	  from webhook.endpoint
	  where id = any ($1) and leased_by = pg_backend_pid()
	  for no key update skip locked
	) mine
	where e.id = mine.id
	returning e.id`

// hint says that endpoints have got deliveries.
func (d *dispatcher) hint(ids []uuid.UUID) {
	now := time.Now()
	for _, id := range ids {
		if e := d.endpoints[id]; e != nil && e.sends(now) {
			e.more = true
		} else {
			d.hinted = append(d.hinted, id)
		}
	}
}

// lease leases endpoints with due deliveries: those that are hinted, or any.
func (d *dispatcher) lease(ctx context.Context, all bool) error {
	if !all && len(d.hinted) == 0 {
		return nil
	}

	// The time is taken before the statement: a lease ends here before it ends in the table.
	leased := time.Now().Add(leaseTime)
	rows, _ := d.conn.Query(ctx, leaseSQL, d.hinted, all, max(d.share-d.sending(), 0), leaseTime)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])

	for _, id := range ids {
		if d.endpoints[id] == nil {
			d.endpoints[id] = &endpoint{id: id, busy: make(map[int64]struct{})}
		}
		e := d.endpoints[id]
		e.leased, e.leaving, e.more = leased, false, true
	}
	d.hinted = nil
	return err
}

// sending returns to how many endpoints requests may start.
func (d *dispatcher) sending() (count int) {
	now := time.Now()
	for _, e := range d.endpoints {
		if e.sends(now) {
			count++
		}
	}
	return count
}

// keepLeases renews the leases of endpoints with requests in flight, ends those beyond the share, and forgets endpoints
// that were not used for a time. The others may have got deliveries of which nothing told.
func (d *dispatcher) keepLeases(ctx context.Context) error {
	if err := d.conn.QueryRow(ctx, shareSQL, leaseTime).Scan(&d.share); err != nil {
		return err
	}

	// An endpoint beyond the share starts nothing more, and is left when its requests have ended.
	var renewed, left []uuid.UUID
	now := time.Now()
	excess := d.sending() - d.share
	for id, e := range d.endpoints {
		if excess > 0 && e.sends(now) {
			e.leaving = true
			excess--
		}

		switch idle := len(e.busy) == 0; {
		case idle && e.leaving:
			left = append(left, id)
			e.leased, e.leaving = time.Time{}, false

		case idle && now.Sub(e.usedAt) > forgetAfter && now.After(e.leased):
			e.close()
			delete(d.endpoints, id)

		case !idle && now.After(e.leased.Add(-renewWithin)):
			renewed = append(renewed, id)
		}

		e.more = true
	}

	if _, err := d.setLeases(ctx, left, 0); err != nil {
		return err
	}

	ids, err := d.setLeases(ctx, renewed, leaseTime)
	for _, id := range ids {
		d.endpoints[id].leased = now.Add(leaseTime)
	}
	return err
}

// setLeases makes leases end after a time, and returns those that it has set: others may have locked an endpoint.
func (d *dispatcher) setLeases(ctx context.Context, ids []uuid.UUID, left time.Duration) ([]uuid.UUID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, _ := d.conn.Query(ctx, setLeasesSQL, ids, left)
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

func (e *endpoint) close() {
	if e.connection != nil {
		e.connection.Close()
	}
}

// connect makes the connections those of the settings.
func (e *endpoint) connect(client *egress.Client, url string, concurrency int) {
	if e.url == url && e.concurrency == concurrency {
		return
	}
	e.close()
	e.url, e.concurrency = url, concurrency
	e.connection, e.refused = client.Connect(url, concurrency)
}
