package webhook

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/projector/retry"
)

const (
	// maxRecord bounds the outcomes of a transaction.
	maxRecord = 1000

	// minFailures is how many attempts have failed at least when an endpoint is disabled for having no success.
	minFailures = 20
)

// record is a list of outcomes that was recorded, or that could not be.
type record struct {
	outcomes []outcome
	deferred []outcome // of endpoints that others have locked: not recorded
	disabled []disabled
	err      error
}

// disabled is an endpoint that is disabled by an outcome.
type disabled struct {
	id     uuid.UUID
	reason string
}

//go:embed record.sql
var recordSQL string

// lockEndpointsSQL locks endpoints before deliveries, as the operator's commands do it, and in one order.
const lockEndpointsSQL = "select id from webhook.endpoint where id = any($1) order by id for no key update"

// startRecord writes the outcomes that wait, unless a write is running. Outcomes that arrive during it are written next.
func (d *dispatcher) startRecord(ctx context.Context) {
	if d.recording || len(d.pending) == 0 {
		return
	}
	n := min(len(d.pending), maxRecord)
	outcomes := slices.Clone(d.pending[:n])
	d.pending = slices.Delete(d.pending, 0, n)
	d.recording = true
	ending := d.ending
	go func() {
		r, err := d.write(ctx, outcomes, ending)
		if err != nil {
			r = record{outcomes: outcomes, err: err}
			retry.Pause(ctx, d.config.Poll)
		}
		d.recorded <- r
	}()
}

// write records outcomes in one transaction. It is finished although ctx ends: a dispatcher that ends waits for it. Without wait, it leaves
// out endpoints that others have locked: an operator's command that takes long must not stop the others.
func (s *Sender) write(ctx context.Context, outcomes []outcome, wait bool) (r record, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	err = pgx.BeginTxFunc(ctx, s.config.Database, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if r.outcomes, r.deferred, err = lockEndpoints(ctx, tx, outcomes, wait); err != nil || len(r.outcomes) == 0 {
			return err
		}
		rows, _ := tx.Query(ctx, recordSQL, s.columns(r.outcomes)...)
		r.disabled, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (d disabled, err error) {
			err = row.Scan(&d.id, &d.reason)
			return d, err
		})
		return err
	})
	return r, err
}

// lockEndpoints returns the outcomes whose endpoints it has locked, and the others. With wait, there are no others.
func lockEndpoints(ctx context.Context, tx pgx.Tx, outcomes []outcome, wait bool) (locked, others []outcome, err error) {
	endpoints := make([]uuid.UUID, len(outcomes))
	for i, o := range outcomes {
		endpoints[i] = o.delivery.Payload.endpoint.id
	}
	if wait {
		_, err := tx.Exec(ctx, lockEndpointsSQL, endpoints)
		return outcomes, nil, err
	}
	rows, _ := tx.Query(ctx, lockEndpointsSQL+" skip locked", endpoints)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	for i, o := range outcomes {
		if slices.Contains(ids, endpoints[i]) {
			locked = append(locked, o)
		} else {
			others = append(others, o)
		}
	}
	return locked, others, err
}

// columns are the parameters of record.sql.
func (s *Sender) columns(outcomes []outcome) []any {
	n := len(outcomes)
	ids, at, ms := make([]int64, n), make([]time.Time, n), make([]int32, n)
	endpoints, events := make([]uuid.UUID, n), make([]string, n)
	status, failures, answers, states := make([]*int16, n), make([]*string, n), make([]*string, n), make([]*string, n)
	due, expires := make([]*time.Time, n), make([]*time.Time, n)
	for i, o := range outcomes {
		ids[i], endpoints[i], events[i] = o.delivery.ID, o.delivery.Payload.endpoint.id, o.delivery.Payload.event.ID
		at[i], ms[i] = o.at, int32(o.took.Milliseconds())
		status[i], failures[i], answers[i], states[i] = statusOf(o.answer.Status), text(failure(o.answer)), text(o.answer.Excerpt), text(o.state)
		if o.state == "" {
			due[i], expires[i] = &outcomes[i].due, &outcomes[i].expires
		}
	}
	return []any{ids, endpoints, events, at, status, failures, answers, ms, states, due, expires, s.config.Schedule.GiveUp, minFailures}
}

// applyRecord forgets outcomes that are recorded. Those that could not be are tried again; the dispatcher sends nothing if they become many.
func (d *dispatcher) applyRecord(r record) {
	d.recording = false
	if r.err != nil {
		d.config.Log.Error().Err(r.err).Int("attempts", len(r.outcomes)).Msg("recording attempts failed")
		d.pending = append(r.outcomes, d.pending...)
		return
	}
	if d.deferred = append(d.deferred, r.deferred...); d.ending {
		d.resumeDeferred()
	}
	now := time.Now()
	for _, o := range r.outcomes {
		if o.state != "" {
			d.metrics.deliveries.WithLabelValues(o.state).Inc()
		}
		e := o.delivery.Payload.endpoint
		d.scheduler.Recorded(o.lane, o.delivery.ID, now)
		e.unrecorded--
		d.forget(e)
	}
	d.refreshOutdated = d.refreshOutdated || d.refreshing && len(r.disabled) > 0
	for _, l := range r.disabled {
		d.config.Log.Warn().Stringer("endpoint", l.id).Str("reason", l.reason).Msg("webhook endpoint disabled")
		if e := d.endpoints[l.id]; e != nil {
			d.retire(e)
		}
	}
}

// resumeDeferred makes deferred outcomes the next to be recorded.
func (d *dispatcher) resumeDeferred() {
	d.pending, d.deferred = append(d.deferred, d.pending...), nil
}

// statusOf returns nil for no answer.
func statusOf(status int) *int16 {
	if status == 0 {
		return nil
	}
	s := int16(min(status, 999)) // a status has three digits
	return &s
}

// text returns nil for an empty text. PostgreSQL stores no NUL.
func text(s string) *string {
	if s == "" {
		return nil
	}
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
	return &s
}
