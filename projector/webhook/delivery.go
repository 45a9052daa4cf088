package webhook

import (
	"context"
	_ "embed"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/webhook"
	"callboard/projector/webhook/lane"
)

// delivery is what a lane's delivery carries.
type delivery struct {
	endpoint *endpoint
	event    webhook.Event
	fired    bool // neither redelivered nor replayed
}

// maxLoadedLanes bounds the rows of a load: each lane asks for some [lane.LookAhead].
const maxLoadedLanes = 256

// load is what load.sql returned for lanes.
type load struct {
	requested map[*endpoint]lane.Load
	rows      map[uuid.UUID][]lane.Delivery[delivery]
	err       error
}

//go:embed load.sql
var loadSQL string

// startLoad reads deliveries for the lanes that need some, unless a load is running.
func (d *dispatcher) startLoad(ctx context.Context) {
	if d.loading || len(d.stale) == 0 {
		return
	}
	requested := make(map[*endpoint]lane.Load)
	for e := range d.stale {
		if len(requested) == maxLoadedLanes {
			break
		}
		if l, ok := e.lane.StartLoad(); ok {
			requested[e] = l
			delete(d.stale, e)
		}
	}
	if len(requested) == 0 {
		return
	}
	d.loading = true
	go func() {
		rows, err := d.readDeliveries(ctx, requested)
		d.loaded <- load{requested, rows, err}
	}()
}

func (s *Sender) readDeliveries(ctx context.Context, requested map[*endpoint]lane.Load) (map[uuid.UUID][]lane.Delivery[delivery], error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	var ids []uuid.UUID
	var limits []int
	var oldest []bool
	for e, l := range requested {
		ids, limits, oldest = append(ids, e.id), append(limits, l.Limit), append(oldest, l.Oldest)
	}
	rows, err := s.config.Database.Query(ctx, loadSQL, ids, limits, oldest)
	if err != nil {
		return nil, err
	}
	byEndpoint := make(map[uuid.UUID][]lane.Delivery[delivery])
	for rows.Next() {
		endpoint, next, err := scanDelivery(rows)
		if err != nil {
			rows.Close()
			return nil, err
		}
		byEndpoint[endpoint] = append(byEndpoint[endpoint], next)
	}
	return byEndpoint, rows.Err()
}

func scanDelivery(rows pgx.Rows) (endpoint uuid.UUID, d lane.Delivery[delivery], err error) {
	var callLog, voicemail *uuid.UUID
	var expires *time.Time
	var cause string
	e := &d.Payload.event
	err = rows.Scan(
		&d.ID, &endpoint, &e.ID, &e.Type, &e.Data.PhoneSystemID, &e.Data.CallSid, &e.Data.RecordingSid, &callLog, &voicemail, &e.Timestamp, &cause,
		&d.Attempts, &d.Due, &expires,
	)
	if callLog != nil {
		e.Data.CallLogID = *callLog
	}
	if voicemail != nil {
		e.Data.VoicemailID = *voicemail
	}
	if expires != nil {
		d.Expires = *expires
	}
	d.Payload.fired = cause == "fired"
	return endpoint, d, err
}

// applyLoad gives the lanes their deliveries. A lane that got as many as it asked for may need more.
func (d *dispatcher) applyLoad(l load) {
	d.loading = false
	now := time.Now()
	if l.err != nil && !d.ending {
		d.config.Log.Error().Err(l.err).Msg("loading deliveries failed")
	}
	for e, requested := range l.requested {
		list := l.rows[e.id]
		for i := range list {
			list[i].Payload.endpoint = e
			if list[i].Due.After(now) && !requested.Oldest {
				list[i].Due = now // it is due by the clock of the database
			}
		}
		if e.retired {
			e.lane.Add()
			continue
		}
		d.scheduler.Add(e.lane, now, list...)
		if len(list) >= requested.Limit && !requested.Oldest {
			d.mark(e)
		}
	}
}
