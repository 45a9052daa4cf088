package main

import (
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/status"
	"callboard/schema"
)

// With the users of deploy/nats.conf, status and the console say that allow_direct stops the partitions, and what else they know: they ask on
// subjects that the lists allow. Without NATS, status prints what PostgreSQL knows, and the problem.
func TestStatus_UsersOfNATSConf(t *testing.T) {
	f := newPermittedFleet(t)
	succeed(t, f.operator(), "", "stream", "create")
	owner := f.ownerJetStream()
	stream, err := owner.Stream(t.Context(), events.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.AllowDirect = true
	if _, err := owner.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	projector, err := jetstream.New(f.nats.connect("projector"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := projector.Publish(t.Context(), events.ClockSubject, nil); err != nil {
		t.Fatal(err)
	}
	topology, err := jetstream.New(f.nats.connect("topology"))
	if err != nil {
		t.Fatal(err)
	}
	system := uuid.New()
	event := events.Changed(&events.PhoneSystem{ID: system, Version: 1, Name: "A"})
	if err := events.NewPublisher(topology, "test").Publish(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	id, err := events.StreamID(stream.CachedInfo().Config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.pool.Exec(t.Context(), `
		insert into projection.position (partition, stream, sequence, epoch, clock, watermark)
		values ($1, $2, 0, 1, now(), now())`,
		events.Partition(system, 16), id)
	if err != nil {
		t.Fatal(err)
	}

	console := status.Source{JetStream: projector, Stream: events.StreamName, Pool: f.pool, Definition: schema.Definition()}
	ofConsole, err := console.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for user, report := range map[string]status.Report{"operator": succeedJSON[status.Report](t, f.operator(), "status"), "projector": ofConsole} {
		p := report.Partitions[events.Partition(system, 16)]
		if report.StreamProblem != "" || report.ClockAgeSeconds == nil || p.StopReason != "STREAM_DIRECT" || p.Head != 2 || p.LagEvents != 1 {
			t.Errorf("report for the user %s = %+v, partition = %+v, want it stopped with STREAM_DIRECT, the clock message and the event",
				user, report, p)
		}
	}
	for _, d := range f.nats.trace.denials() {
		t.Errorf("denied: %+v", d)
	}

	operator := f.operator()
	f.nats.stop()
	expect(t, operator, 1, `(?s)`+events.StreamName+`: not read; open dead letters: 0;.*PROBLEM: NATS can't be reached: `, "status")
}
