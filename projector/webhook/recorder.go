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
const lockEndpointsSQL = "select from webhook.endpoint where id = any($1) order by id for no key update"

// record writes the outcomes that wait, unless a record is under way. Those that come meanwhile are the next record.
func (d *dispatcher) record(ctx context.Context) {
	if d.recording || len(d.pending) == 0 {
		return
	}
	n := min(len(d.pending), maxRecord)
	outcomes := slices.Clone(d.pending[:n])
	d.pending = slices.Delete(d.pending, 0, n)
	d.recording = true
	go func() {
		disabled, err := d.write(ctx, outcomes)
		if err != nil {
			retry.Pause(ctx, d.config.Poll)
		}
		d.recorded <- record{outcomes, disabled, err}
	}()
}

// write records outcomes in one transaction. It is finished although ctx ends: a dispatcher that ends waits for it.
func (s *Sender) write(ctx context.Context, outcomes []outcome) (list []disabled, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	arguments, endpoints := s.columns(outcomes)
	err = pgx.BeginTxFunc(ctx, s.config.Database, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockEndpointsSQL, endpoints); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, recordSQL, arguments...)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (d disabled, err error) {
			err = row.Scan(&d.id, &d.reason)
			return d, err
		})
		return err
	})
	return list, err
}

// columns are the parameters of record.sql, and the endpoints.
func (s *Sender) columns(outcomes []outcome) (arguments []any, endpoints []uuid.UUID) {
	n := len(outcomes)
	ids, at, ms := make([]int64, n), make([]time.Time, n), make([]int32, n)
	endpoints = make([]uuid.UUID, n)
	status, failures, answers, states := make([]*int16, n), make([]*string, n), make([]*string, n), make([]*string, n)
	due, expires := make([]*time.Time, n), make([]*time.Time, n)
	for i, o := range outcomes {
		ids[i], endpoints[i], at[i], ms[i] = o.delivery.ID, o.delivery.Payload.endpoint.id, o.at, int32(o.took.Milliseconds())
		status[i], failures[i], answers[i], states[i] = statusOf(o.answer.Status), text(failure(o.answer)), text(o.answer.Excerpt), text(o.state)
		if o.state == "" {
			due[i], expires[i] = &outcomes[i].due, &outcomes[i].expires
		}
	}
	return []any{ids, endpoints, at, status, failures, answers, ms, states, due, expires, s.config.Schedule.GiveUp, minFailures}, endpoints
}

// applyRecord forgets outcomes that are recorded. Those that could not be are tried again; the dispatcher sends nothing if they become many.
func (d *dispatcher) applyRecord(r record) {
	d.recording = false
	if r.err != nil {
		d.config.Log.Error().Err(r.err).Int("attempts", len(r.outcomes)).Msg("recording attempts failed")
		d.pending = append(r.outcomes, d.pending...)
		return
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
	for _, l := range r.disabled {
		d.config.Log.Warn().Stringer("endpoint", l.id).Str("reason", l.reason).Msg("webhook endpoint disabled")
		if e := d.endpoints[l.id]; e != nil {
			d.retire(e)
		}
	}
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
