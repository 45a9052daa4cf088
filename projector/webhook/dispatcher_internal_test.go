package webhook

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/projector/webhook/egress"
	"callboard/projector/webhook/lane"
	"callboard/schema/schematest"
)

func newTestDispatcher(t *testing.T) *dispatcher {
	t.Helper()
	s, err := New(Config{
		Database: schematest.New(t).RolePool(t, "callboard_webhooks"), Client: egress.New(egress.Config{Version: "test"}),
		Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	d := newDispatcher(s)
	d.owned = []int{0}
	return d
}

// A sender that was frozen starts no request for shards that another sender may own.
func TestDispatcher_StartsNothingAfterItsTime(t *testing.T) {
	t.Parallel()
	d := newTestDispatcher(t)
	d.open(settings{id: uuid.New(), url: "https://127.0.0.1", concurrency: 1}) // is refused without a connection
	for _, e := range d.endpoints {
		e.lane.StartLoad()
		d.scheduler.Add(e.lane, time.Now(), lane.Delivery[delivery]{ID: 1, Due: time.Now(), Payload: delivery{endpoint: e}})
	}
	wake := time.NewTimer(time.Hour)
	for _, test := range []struct {
		remaining time.Duration
		started   int
	}{{0, 0}, {time.Hour, 1}} {
		d.applyAssignment(t.Context(), assignment{owned: d.owned, until: time.Now().Add(test.remaining)})
		d.advance(t.Context(), t.Context(), wake)
		if n := d.scheduler.InFlight(); n != test.started {
			t.Errorf("started with %v left = %d, want %d", test.remaining, n, test.started)
		}
	}
	if d.scheduler.InFlight() > 0 {
		<-d.attempted
	}
}

// Endpoints that were read before a record disabled one of them are read again.
func TestDispatcher_EndpointDisabledDuringARefresh(t *testing.T) {
	t.Parallel()
	d := newTestDispatcher(t)
	read := settings{id: uuid.New(), url: "https://hooks.example.com", concurrency: 1}
	d.open(read)
	d.refreshing = true
	d.applyRecord(record{disabled: []disabled{{read.id, "gone"}}})
	d.applyRefresh(t.Context(), refresh{owned: d.owned, list: []settings{read}})
	if len(d.endpoints) != 0 || !d.refreshing {
		t.Errorf("open endpoints = %d, refreshing = %t, want 0, true", len(d.endpoints), d.refreshing)
	}
	if d.refreshing {
		d.applyRefresh(t.Context(), <-d.refreshed)
	}
	if len(d.endpoints) != 0 || d.refreshing {
		t.Errorf("after the next refresh: open endpoints = %d, refreshing = %t, want 0, false", len(d.endpoints), d.refreshing)
	}
}
