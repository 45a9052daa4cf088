package sender

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/webhook"
	"callboard/projector/webhook/egress"
)

// delivery is one event for one endpoint, with the endpoint's settings as they are when it is sent.
type delivery struct {
	id       int64
	endpoint *endpoint
	event    webhook.Event
	fired    bool // neither redelivered nor replayed
	tries    int
	due      time.Time
	expires  *time.Time // of the last attempt; nil: none was made
	probe    bool

	url         string
	concurrency int
	secrets     []sealedSecret
}

// sealedSecret is a signing secret of an endpoint, as its row has it.
type sealedSecret struct {
	webhook.Sealed
	ExpiresAt *time.Time `json:"expires_at"` // nil: current
}

var errNoSecret = errors.New("the endpoint has no valid secret: run 'callboard webhooks rotate'")

// openSecrets returns the plain secrets that have not expired, in the same order.
func openSecrets(v *webhook.Vault, endpoint uuid.UUID, sealed []sealedSecret) (list []webhook.Secret, err error) {
	now := time.Now()
	for _, s := range sealed {
		if s.ExpiresAt != nil && !now.Before(*s.ExpiresAt) {
			continue
		}

		plain, err := v.Open(endpoint, s.Sealed)
		if err != nil {
			return nil, err
		}
		secret, err := webhook.ParseSecret(string(plain))
		if err != nil {
			return nil, fmt.Errorf("open secret %s of endpoint %s: %w", s.ID, endpoint, err)
		}

		list = append(list, secret)
	}

	if len(list) == 0 {
		return nil, errNoSecret
	}
	return list, nil
}

//go:embed due.sql
var dueSQL string

// send starts requests for due deliveries, as many as there is room for. Room is handed out in equal parts, first to
// the endpoints that have waited longest.
func (d *dispatcher) send(ctx, requests context.Context) error {
	now, room := time.Now(), d.config.InFlight-d.busy
	var asked []*endpoint
	for _, e := range d.endpoints {
		if e.more && e.sends(now) {
			asked = append(asked, e)
		}
	}

	if len(asked) == 0 || room <= 0 {
		return nil
	}

	slices.SortFunc(asked, func(a, b *endpoint) int { return a.usedAt.Compare(b.usedAt) })
	asked = asked[:min(len(asked), room)]

	list, err := d.readDue(ctx, asked, room/len(asked))
	if err != nil {
		return err
	}

	count := make(map[*endpoint]int)
	for _, next := range list {
		count[next.endpoint]++
		d.start(requests, next)
	}

	// An endpoint that filled its part may have more due deliveries.
	for _, e := range asked {
		e.more = count[e] == room/len(asked)
	}
	return nil
}

// start sends a delivery in the background, unless the lease is ending or a key is missing.
func (d *dispatcher) start(requests context.Context, next delivery) {
	e := next.endpoint

	// Secrets that cannot be opened are logged once, until they can be opened again.
	secrets, err := openSecrets(d.config.Vault, e.id, next.secrets)
	if err != nil && !e.noSecret {
		d.config.Log.Error().Err(err).Stringer("endpoint", e.id).Msg("opening webhook secrets failed: deliveries wait")
	}
	e.noSecret = err != nil

	now := time.Now()
	if e.noSecret || !e.sends(now) {
		return
	}

	e.connect(d.config.Client, next.url, next.concurrency)
	e.busy[next.id], e.usedAt = struct{}{}, now
	d.busy++

	// Only the dispatcher's goroutine may use the endpoint, so the request gets copies.
	connection, refused := e.connection, e.refused
	go func() {
		o := outcome{delivery: next, state: waiting, at: time.Now()}
		if refused != nil {
			o.answer = egress.Answer{Err: refused, Class: egress.Refused}
		} else {
			o.answer = post(requests, connection, secrets, next.event)
		}

		o.ended = time.Now()
		d.outcomes <- o
	}()
}

// post sends an event. Every attempt has the same id and body, and a new timestamp and signature.
func post(
	ctx context.Context, connection *egress.Endpoint, secrets []webhook.Secret, event webhook.Event,
) egress.Answer {
	body := event.Body()
	return connection.Post(ctx, webhook.Sign(secrets, event.ID, time.Now(), body), body)
}

// readDue returns what can be sent to endpoints, up to a number for each.
func (d *dispatcher) readDue(ctx context.Context, asked []*endpoint, most int) ([]delivery, error) {
	ids, busy := make([]uuid.UUID, len(asked)), make([]int, len(asked))

	// Deliveries in flight are due in the table, too, and must not be sent twice.
	unfinished := []int64{}
	for i, e := range asked {
		ids[i], busy[i] = e.id, len(e.busy)
		for id := range e.busy {
			unfinished = append(unfinished, id)
		}
	}

	rows, _ := d.conn.Query(ctx, dueSQL, ids, busy, most, unfinished, uuid.Nil)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (next delivery, err error) {
		var endpoint uuid.UUID
		var cause string

		e := &next.event
		err = row.Scan(
			&next.id, &endpoint, &e.ID, &e.Type, &e.Data.PhoneSystemID, &e.Data.CallSid, &e.Data.RecordingSid,
			&e.Data.CallLogID, &e.Data.VoicemailID, &e.Timestamp, &cause, &next.tries, &next.due, &next.expires,
			&next.probe, &next.url, &next.concurrency, &next.secrets,
		)

		next.endpoint, next.fired = d.endpoints[endpoint], cause == "fired"
		return next, err
	})
}
