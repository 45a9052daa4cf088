package projector_test

import (
	"testing"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/projectortest"
)

// A server that is brought back as it was a while ago has lost the end of its stream. A partition to which nothing has happened since
// notices that too, however far the stream has grown again: what it has grown lies below where the partition stands.
func TestProjector_StopsWhereTheStreamHasGrownAnotherEnd(t *testing.T) {
	for name, running := range map[string]bool{"running": true, "started later": false} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			log, line := new(projectortest.Log), eventstest.NewLine(t, s.Server.URL())
			stop := s.Start(log.Instead, func(c *projector.Config) { c.JetStream = eventstest.JetStream(t, "nats://"+line.Host()) })
			busy, idle := projectortest.SystemIn(0), projectortest.SystemIn(1)
			s.Change(projectortest.PhoneSystem(busy), projectortest.PhoneSystem(idle))
			s.CaughtUp()
			restore := s.Server.Backup()
			for range 20 {
				s.Change(projectortest.Call(busy, uuid.New()))
			}
			s.CaughtUp()
			if !running {
				stop()
			}
			release := line.Hold()
			restore()
			for range 30 {
				s.Change(projectortest.Call(idle, uuid.New()))
			}
			release()
			if running {
				says(t, log, projector.StreamRegressed)
				stop()
			}
			log = new(projectortest.Log)
			s.Start(log.Instead)
			says(t, log, projector.StreamRegressed)
			if n := s.Number("select count(*) from projection.call_log where system_id = $1", idle); n != 0 {
				t.Errorf("%d of 30 calls, and the partition goes on", n)
			}
		})
	}
}

// says waits until every partition has given its reason.
func says(t *testing.T, log *projectortest.Log, reason string) {
	t.Helper()
	eventstest.Eventually(t, reason, func() bool { return log.Count(reason) >= projectortest.Partitions })
}

func TestProjector_StopsAtAnotherNumberOfPartitions(t *testing.T) {
	s := newStage(t)
	log := new(projectortest.Log)
	stop := s.Start(log.Instead)
	s.Change(projectortest.Call(uuid.New(), uuid.New()))
	s.CaughtUp()
	s.Repartition(2 * projectortest.Partitions)
	says(t, log, projector.StreamRepartitioned)
	stop()
	log = new(projectortest.Log)
	stop = s.Start(log.Instead)
	says(t, log, projector.StreamRepartitioned)
	stop()
	s.Repartition(projectortest.Partitions)
	s.Start()
	s.Change(projectortest.Call(uuid.New(), uuid.New()))
	s.CaughtUp()
}
