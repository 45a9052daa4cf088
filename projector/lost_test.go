package projector_test

import (
	"testing"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/ingest"
	"callboard/projector/projectortest"
)

// A server that is brought back as it was a while ago has lost the end of its stream. A partition to which nothing has happened since
// notices that too, however far the stream has grown again: what it has grown lies below where the partition stands.
func TestProjector_StopsWhereTheStreamHasGrownAnotherEnd(t *testing.T) {
	for name, running := range map[string]bool{"running": true, "started later": false} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			log, proxy := new(eventstest.LogBuffer), eventstest.NewProxy(t, s.Server.URL())
			stop := s.StartProjector(projectortest.LogTo(log), func(c *projector.Config) { c.JetStream = eventstest.JetStream(t, "nats://"+proxy.Addr()) })
			busy, idle := s.NewSystemIn(0), s.NewSystemIn(1)
			s.PublishStates(projectortest.PhoneSystem(busy), projectortest.PhoneSystem(idle))
			s.WaitUntilCaughtUp()
			restore := s.Server.Backup()
			for range 20 {
				s.PublishStates(projectortest.Call(busy, uuid.New()))
			}
			s.WaitUntilCaughtUp()
			if !running {
				stop()
			}
			resume := proxy.Pause()
			restore()
			for range 30 {
				s.PublishStates(projectortest.Call(idle, uuid.New()))
			}
			resume()
			if running {
				says(t, log, ingest.StreamRegressed)
				stop()
			}
			log = new(eventstest.LogBuffer)
			s.StartProjector(projectortest.LogTo(log))
			says(t, log, ingest.StreamRegressed)
			if n := s.QueryInt("select count(*) from projection.call_log where system_id = $1", idle); n != 0 {
				t.Errorf("%d of 30 calls, and the partition goes on", n)
			}
		})
	}
}

// says waits until every partition has given its reason.
func says(t *testing.T, log *eventstest.LogBuffer, reason string) {
	t.Helper()
	eventstest.Eventually(t, reason, func() bool { return log.Count(reason) >= projectortest.Partitions })
}

func TestProjector_StopsAtAnotherNumberOfPartitions(t *testing.T) {
	s := newStage(t)
	log := new(eventstest.LogBuffer)
	stop := s.StartProjector(projectortest.LogTo(log))
	s.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
	s.WaitUntilCaughtUp()
	s.SetPartitions(2 * projectortest.Partitions)
	says(t, log, ingest.StreamRepartitioned)
	stop()
	log = new(eventstest.LogBuffer)
	stop = s.StartProjector(projectortest.LogTo(log))
	says(t, log, ingest.StreamRepartitioned)
	stop()
	s.SetPartitions(projectortest.Partitions)
	s.StartProjector()
	s.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
	s.WaitUntilCaughtUp()
}
