package sender

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/projector/webhook/egress"
)

const (
	// maxRecord bounds the outcomes of a transaction.
	maxRecord = 1000

	// minFailures is how many attempts have failed at least when an endpoint is disabled for having no success.
	minFailures = 20
)

// outcome is a request that has ended.
type outcome struct {
	delivery
	answer    egress.Answer
	at, ended time.Time

	state string    // in which the delivery ends; empty: it waits
	next  time.Time // when the next attempt of one that waits is due
	last  time.Time // and when the last attempt is
}

// The states in which a sender ends a delivery.
const (
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
		if o.attempts == 0 && o.fired {
			d.metrics.latency.Observe(o.ended.Sub(o.event.Timestamp).Seconds())
		}
		d.ended = append(d.ended, o)
		return
	}

	o.last = o.due.Add(d.config.Schedule.GiveUp)
	if o.expires != nil {
		o.last = *o.expires
	}
	next, expired := d.config.Schedule.next(o.attempts+1, o.ended, o.last, o.answer.RetryAfter, 2*rand.Float64()-1)
	switch {
	case !expired:
		o.next = next
	case o.answer.Gone():
		o.next = o.ended
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

//go:embed record.sql
var recordSQL string

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
		statements := &pgx.Batch{}
		statements.Queue(recordSQL, attemptColumns(recorded)...)
		for e, h := range endpoints {
			statements.Queue(setHealthSQL, e.id, h.failures, h.failingSince, h.failedAt, h.succeededAt, h.probeAt, h.slots)
		}
		if err := tx.SendBatch(ctx, statements).Close(); err != nil || len(failed) == 0 {
			return err
		}
		rows, _ := tx.Query(ctx, judgeSQL, gone, failed, d.config.Schedule.GiveUp, minFailures)
		return d.logDisabled(rows)
	})
	if err != nil {
		return err
	}

	d.ended = append(d.ended[len(batch):], locked...)
	for e, h := range endpoints {
		e.health = *h
	}
	for _, o := range recorded {
		if o.state != "" {
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
		h.failed = e.health.failed
		locked[e] = new(h)
		return nil
	})
	return locked, err
}

// attemptColumns are the first parameters of record.sql.
func attemptColumns(outcomes []outcome) []any {
	n := len(outcomes)
	ids, at, ms := make([]int64, n), make([]time.Time, n), make([]int64, n)
	endpoints, events := make([]uuid.UUID, n), make([]string, n)
	status, reasons, answers, states := make([]*int, n), make([]*string, n), make([]*string, n), make([]*string, n)
	next, last := make([]*time.Time, n), make([]*time.Time, n)
	for i, o := range outcomes {
		ids[i], endpoints[i], events[i] = o.id, o.endpoint.id, o.event.ID
		at[i], ms[i] = o.at, o.ended.Sub(o.at).Milliseconds()
		status[i], reasons[i], answers[i] = answerColumns(o.answer)
		if states[i] = text(o.state); o.state == "" {
			next[i], last[i] = &o.next, &o.last
		}
	}
	return []any{ids, endpoints, events, at, status, reasons, answers, ms, states, next, last}
}

//go:embed judge.sql
var judgeSQL string

// logDisabled logs the endpoints that judge.sql returned: they are disabled.
func (s *Sender) logDisabled(rows pgx.Rows) error {
	var id uuid.UUID
	var reason string
	_, err := pgx.ForEachRow(rows, []any{&id, &reason}, func() error {
		s.config.Log.Warn().Stringer("endpoint", id).Str("reason", reason).Msg("webhook endpoint disabled")
		return nil
	})
	return err
}

// answerColumns returns the columns of an answer: its status, why the request failed, and the beginning of what was
// answered. None is nil.
func answerColumns(a egress.Answer) (status *int, reason, excerpt *string) {
	switch {
	case a.Err != nil:
		reason = text(a.Err.Error())
	case !a.Delivered():
		reason = text(fmt.Sprintf("status %d", a.Status))
	}
	if a.Status != 0 {
		status = &a.Status
	}
	return status, reason, text(a.Excerpt)
}

// text returns nil for an empty text. PostgreSQL stores no NUL.
func text(s string) *string {
	if s == "" {
		return nil
	}
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
	return &s
}
