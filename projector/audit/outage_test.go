package audit_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/audit"
	filer "callboard/projector/audit"
)

// What is published while the database is away is filed once it is back, and the outage is one line.
func TestWriter_DatabaseAway(t *testing.T) {
	s := newStage(t)
	s.start()
	first := entry(uuid.New(), s.noon)
	s.publish(first)
	s.drained()
	s.exec("alter role callboard_projector nologin")
	t.Cleanup(func() { // the role is the server's, and other tests' too
		if _, err := s.pool.Exec(context.Background(), "alter role callboard_projector login"); err != nil {
			t.Error(err)
		}
	})
	s.exec("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'callboard_projector'")
	second := entry(uuid.New(), s.noon.AddDate(0, 0, 1))
	s.publish(second)
	s.await("a failure", func() bool { return s.log.count("can't be filed") > 0 })
	if got := s.ids(); !slices.Equal(got, []uuid.UUID{first.ID}) {
		t.Errorf("filed while away: %v", got)
	}
	s.exec("alter role callboard_projector login")
	s.drained()
	if got := s.ids(); !slices.Equal(got, []uuid.UUID{first.ID, second.ID}) {
		t.Errorf("filed: %v", got)
	}
	s.await("the end of the failure", func() bool { return s.log.count("are filed again") == 1 })
}

// A missing stream is logged once, with the remedy, and found once it is there.
func TestWriter_WithoutStream(t *testing.T) {
	s := newStage(t)
	if err := s.js.DeleteStream(t.Context(), audit.StreamName); err != nil {
		t.Fatal(err)
	}
	var js jetstream.JetStream
	s.start(func(c *filer.Config) { js = c.JetStream })
	s.await("a remedy", func() bool { return s.log.count("callboard stream create") > 0 })
	sent := js.Conn().Stats().OutMsgs
	s.await("more attempts", func() bool { return js.Conn().Stats().OutMsgs >= sent+3 })
	e := entry(uuid.New(), s.noon)
	s.createStream()
	s.publish(e)
	s.drained()
	if got := s.ids(); !slices.Equal(got, []uuid.UUID{e.ID}) || s.log.count("can't be filed") != 1 {
		t.Errorf("filed: %v; logged:\n%s", got, s.log.all())
	}
}

// A consumer that vanished is made again, with what nobody had acknowledged.
func TestWriter_ConsumerVanishes(t *testing.T) {
	s := newStage(t)
	s.start()
	first := entry(uuid.New(), s.noon)
	s.publish(first)
	s.drained()
	if err := s.stream.DeleteConsumer(t.Context(), audit.Consumer); err != nil {
		t.Fatal(err)
	}
	second := entry(uuid.New(), s.noon)
	second.At = second.At.Add(1)
	s.publish(second)
	s.drained()
	if got := s.ids(); len(got) != 2 {
		t.Errorf("filed: %v", got)
	}
}

// The server may stop and start under a filer.
func TestWriter_ServerRestarts(t *testing.T) {
	s := newStage(t)
	s.start()
	first := entry(uuid.New(), s.noon)
	s.publish(first)
	s.drained()
	s.server.Restart()
	second := entry(uuid.New(), s.noon.AddDate(0, 0, 1))
	s.await("the server", func() bool {
		_, err := s.stream.Info(t.Context())
		return err == nil
	})
	s.publish(second)
	s.drained()
	if got := s.ids(); !slices.Equal(got, []uuid.UUID{first.ID, second.ID}) {
		t.Errorf("filed: %v", got)
	}
}
