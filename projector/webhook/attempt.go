package webhook

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"callboard/events/webhook"
	"callboard/projector/webhook/egress"
	"callboard/projector/webhook/lane"
)

// outcome is a request that has ended.
type outcome struct {
	lane      *lane.Lane[delivery]
	delivery  lane.Delivery[delivery]
	answer    egress.Answer
	at        time.Time // the start of the request
	took      time.Duration
	abandoned bool // the sender gave it up; it counts for nothing

	state   string    // in which the delivery ends; empty: it waits
	due     time.Time // of the next attempt
	expires time.Time
}

// The states in which a sender ends a delivery.
const (
	delivered = "delivered"
	dead      = "dead"
)

// attempt sends a delivery in the background.
func (d *dispatcher) attempt(requests context.Context, l *lane.Lane[delivery], next lane.Delivery[delivery]) {
	next.Payload.endpoint.unrecorded++
	e := next.Payload.endpoint
	connection, refused, secrets := e.connection, e.refused, e.secrets
	go func() {
		o := outcome{lane: l, delivery: next, at: time.Now()}
		if refused != nil {
			o.answer = egress.Answer{Err: refused, Class: egress.Refused}
		} else {
			o.answer = post(requests, connection, secrets, next.Payload.event)
		}
		o.took = time.Since(o.at)
		o.abandoned = o.answer.Class == egress.Canceled
		d.attempted <- o
	}()
}

// post sends an event. Every attempt has the same id and body, and a new timestamp and signature.
func post(ctx context.Context, connection *egress.Endpoint, secrets []webhook.Secret, event webhook.Event) egress.Answer {
	body := event.Body()
	return connection.Post(ctx, webhook.Sign(secrets, event.ID, time.Now(), body), body)
}

// finish decides what follows from an outcome, and has it recorded.
func (d *dispatcher) finish(o outcome) {
	now := time.Now()
	success := o.answer.Delivered()
	d.scheduler.Done(o.lane, o.delivery.ID, lane.Outcome{Success: success, RetryAfter: o.answer.RetryAfter}, now)
	if o.abandoned {
		o.delivery.Payload.endpoint.unrecorded--
		d.forget(o.delivery.Payload.endpoint)
		return
	}
	d.metrics.attempts.WithLabelValues(o.answer.Class).Inc()
	if success {
		o.state = delivered
		if o.delivery.Attempts == 0 && o.delivery.Payload.fired {
			d.metrics.latency.Observe(now.Sub(o.delivery.Payload.event.Timestamp).Seconds())
		}
	} else {
		d.schedule(&o, now)
	}
	d.pending = append(d.pending, o)
	d.mark(o.delivery.Payload.endpoint)
}

// schedule sets when a failed delivery is due again, or that it is dead. After status 410 an expired delivery is not dead: it waits while the
// endpoint is disabled.
func (d *dispatcher) schedule(o *outcome, now time.Time) {
	o.expires = o.delivery.Expires
	if o.expires.IsZero() {
		o.expires = d.config.Schedule.Expires(o.delivery.Due)
	}
	due, expired := d.config.Schedule.Next(lane.Failure{
		Attempts: o.delivery.Attempts + 1, At: now, Expires: o.expires, RetryAfter: o.answer.RetryAfter, Jitter: 2*rand.Float64() - 1,
	})
	switch {
	case !expired:
		o.due = due
	case o.answer.Gone():
		o.due = now
	default:
		o.state = dead
	}
}

// failure says why a request failed; empty: it did not. It has no part of the answer.
func failure(a egress.Answer) string {
	switch {
	case a.Delivered():
		return ""
	case a.Err != nil:
		return a.Err.Error()
	}
	return fmt.Sprintf("status %d", a.Status)
}
