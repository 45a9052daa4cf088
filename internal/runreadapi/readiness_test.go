package runreadapi

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events/eventstest"
	"callboard/readapi/auditqueue"
	"callboard/schema/schematest"
)

// A reader with a full audit queue refuses requests, so it is not ready.
func TestReadiness_FullAuditQueue(t *testing.T) {
	auditQueue := auditqueue.NewQueue(auditqueue.Config{
		JetStream: eventstest.JetStream(t, eventstest.NewServer(t).URL()), Capacity: 1, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	})
	running, stop := context.WithCancel(t.Context())
	ready := readiness(running, auditQueue, schematest.New(t).Pool(t))
	if err := ready(t.Context()); err != nil {
		t.Errorf("queue with room: error = %v, want none", err)
	}
	if err := auditQueue.Reserve(uuid.New()); err != nil {
		t.Fatal(err)
	}
	if err := ready(t.Context()); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("full queue: error = %v, want one that says so", err)
	}
	stop()
	if err := ready(t.Context()); err == nil || err.Error() != "stopping" {
		t.Errorf("stopping: error = %v, want stopping", err)
	}
}
