package webhook

import (
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/projector/webhook/egress"
	"callboard/schema/schematest"
)

// Endpoints that were read before a record disabled one of them are read again.
func TestDispatcher_EndpointDisabledDuringARefresh(t *testing.T) {
	t.Parallel()
	s, err := New(Config{
		Database: schematest.New(t).RolePool(t, "callboard_webhooks"), Client: egress.New(egress.Config{Version: "test"}),
		Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	d := newDispatcher(s)
	d.owned = []int{0}
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
