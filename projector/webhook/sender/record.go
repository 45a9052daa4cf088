package sender

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/projector/webhook/egress"
	"callboard/projector/webhook/registry"
)

const (
	// maxRecord bounds the outcomes of a transaction.
	maxRecord = 1000

	// minFailures is how many attempts have failed at least when an endpoint is disabled for having no success.
	minFailures = 20
)

// outcome is a request that has ended. The delivery is as it becomes: its state, and when another attempt and the last
// one are due.
type outcome struct {
	delivery
	state     string
	answer    egress.Answer
	at, ended time.Time
}

// The states of a delivery that a sender sets.
const (
	waiting   = "waiting"
	delivered = "delivered"
	dead      = "dead"
)

// finish decides what follows from an outcome for its delivery. A request that was given up counts for nothing. After
// status 410 an expired delivery is not dead: it waits while the endpoint is disabled.
func (d *dispatcher) finish(o outcome) {
	if o.answer.Class == egress.Canceled {
		d.release(o)
		return
	}

	d.metrics.attempts.WithLabelValues(o.answer.Class).Inc()
	if o.answer.Delivered() {
		o.state = delivered
		// Only the first attempt of a new event says how long the way takes.
		if o.tries == 0 && o.fired {
			d.metrics.latency.Observe(o.ended.Sub(o.event.Timestamp).Seconds())
		}

		d.ended = append(d.ended, o)
		return
	}

	// The first attempt fixes the time of the last attempt.
	if o.expires == nil {
		o.expires = new(o.due.Add(d.config.Schedule.GiveUp))
	}

	next, expired := d.config.Schedule.next(o.tries+1, o.ended, *o.expires, o.answer.RetryAfter, 2*rand.Float64()-1)
	switch {
	case !expired:
		o.due = next
	case o.answer.Gone():
		o.due = o.ended
	default:
		o.state = dead
	}

	d.ended = append(d.ended, o)
}

// release makes room for another request.
func (d *dispatcher) release(o outcome) {
	delete(o.endpoint.busy, o.id)
	o.endpoint.more = true
	d.busy--
}

var (
	//go:embed record.sql
	recordSQL string

	//go:embed record_late.sql
	recordLateSQL string
)

const (
	// healthSQL locks endpoints before deliveries, as the operator's commands do it. It leaves out those that others
	// have locked: an operator's command that takes long must not stop the others.
	healthSQL = `
		select id, concurrency, failures, failing_since, failed_at, succeeded_at, probe_at, slots
		from webhook.endpoint
		where id = any ($1)
		order by id
		for no key update skip locked`

	setHealthSQL = `
		update webhook.endpoint
		set failures = $2, failing_since = $3, failed_at = $4, succeeded_at = $5, probe_at = $6, slots = $7
		where id = $1`
)

// record writes outcomes in one transaction. Those of endpoints that others have locked are written later.
func (d *dispatcher) record(ctx context.Context) error {
	batch := d.ended[:min(len(d.ended), maxRecord)]
	if len(batch) == 0 {
		return nil
	}

	var recorded, locked []outcome
	var endpoints map[*endpoint]*health
	err := pgx.BeginTxFunc(ctx, d.conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) (err error) {
		if endpoints, err = d.lockEndpoints(ctx, tx, batch); err != nil {
			return err
		}

		var gone, failed []uuid.UUID
		for _, o := range batch {
			h := endpoints[o.endpoint]
			switch {
			case h == nil:
				// Another transaction has locked the endpoint.
				locked = append(locked, o)
				continue

			case o.answer.Delivered():
				h.succeed(o.ended)

			case o.answer.Gone():
				gone = append(gone, o.endpoint.id)
				fallthrough
			default:
				failed = append(failed, o.endpoint.id)
				h.fail(o.id, o.probe, o.ended, o.answer.RetryAfter)
			}

			recorded = append(recorded, o)
		}

		if len(recorded) == 0 {
			return nil
		}

		if err := write(ctx, tx, recorded, endpoints); err != nil || len(failed) == 0 {
			return err
		}
		return d.judge(ctx, tx, gone, failed)
	})
	if err != nil {
		return err
	}

	// The dispatcher's state changes after the commit only, so that a failed transaction is repeated.
	d.ended = append(d.ended[len(batch):], locked...)
	for e, h := range endpoints {
		e.health = *h
	}

	for _, o := range recorded {
		if o.state != waiting {
			d.metrics.deliveries.WithLabelValues(o.state).Inc()
		}
		d.release(o)
	}
	return nil
}

// lockEndpoints returns the health of the endpoints that it has locked.
func (d *dispatcher) lockEndpoints(ctx context.Context, tx pgx.Tx, batch []outcome) (map[*endpoint]*health, error) {
	ids := make([]uuid.UUID, len(batch))
	for i, o := range batch {
		ids[i] = o.endpoint.id
	}

	locked := make(map[*endpoint]*health)
	var id uuid.UUID
	var h health

	rows, _ := tx.Query(ctx, healthSQL, ids)

	columns := []any{&id, &h.concurrency, &h.failures, &h.failingSince, &h.failedAt, &h.succeededAt, &h.probeAt, &h.slots}
	_, err := pgx.ForEachRow(rows, columns, func() error {
		e := d.endpoints[id]
		// No column has the failed deliveries.
		h.failed = e.health.failed
		locked[e] = new(h)
		return nil
	})
	return locked, err
}

// write writes outcomes, and the health of their endpoints.
func write(ctx context.Context, tx pgx.Tx, outcomes []outcome, endpoints map[*endpoint]*health) error {
	statements, columns, waited := &pgx.Batch{}, outcomeColumns(outcomes), 0
	statements.Queue(recordSQL, columns...).Exec(func(tag pgconn.CommandTag) error {
		waited = int(tag.RowsAffected())
		return nil
	})

	for e, h := range endpoints {
		statements.Queue(setHealthSQL, e.id, h.failures, h.failingSince, h.failedAt, h.succeededAt, h.probeAt, h.slots)
	}
	err := tx.SendBatch(ctx, statements).Close()

	// The other deliveries ended meanwhile.
	if err == nil && waited < len(outcomes) {
		_, err = tx.Exec(ctx, recordLateSQL, columns[:4]...)
	}
	return err
}

// outcomeColumns are outcomes as the parameters of record.sql: one array per column.
func outcomeColumns(outcomes []outcome) []any {
	n := len(outcomes)
	ids, endpoints, events := make([]int64, n), make([]uuid.UUID, n), make([]string, n)
	attempts, states := make([]registry.Attempt, n), make([]string, n)
	due, expires := make([]time.Time, n), make([]*time.Time, n)
	for i, o := range outcomes {
		ids[i], endpoints[i], events[i] = o.id, o.endpoint.id, o.event.ID
		attempts[i], states[i] = attempt(o.answer, o.at, o.ended), o.state
		due[i], expires[i] = o.due, o.expires
	}
	return []any{ids, endpoints, events, attempts, states, due, expires}
}

//go:embed judge.sql
var judgeSQL string

// judge disables endpoints, as judge.sql says, and logs which.
func (s *Sender) judge(ctx context.Context, db querier, gone, failed []uuid.UUID) error {
	rows, _ := db.Query(ctx, judgeSQL, gone, failed, s.config.Schedule.GiveUp, minFailures)
	var id uuid.UUID
	var reason string
	_, err := pgx.ForEachRow(rows, []any{&id, &reason}, func() error {
		s.config.Log.Warn().Stringer("endpoint", id).Str("reason", reason).Msg("webhook endpoint disabled")
		return nil
	})
	return err
}

// attempt returns a request as its delivery stores it.
func attempt(a egress.Answer, at, ended time.Time) registry.Attempt {
	stored := registry.Attempt{At: at.UTC().Truncate(time.Microsecond), MS: int(ended.Sub(at).Milliseconds())}

	switch {
	case a.Err != nil:
		stored.Error = new(a.Err.Error())
	case !a.Delivered():
		stored.Error = new(fmt.Sprintf("status %d", a.Status))
	}

	if a.Status != 0 {
		stored.Status = &a.Status
	}
	if a.Excerpt != "" {
		stored.Answer = &a.Excerpt
	}

	return stored
}
