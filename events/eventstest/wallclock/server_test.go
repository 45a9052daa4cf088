package wallclock_test

import (
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/eventstest/wallclock"
)

const day = 24 * time.Hour

// storedAhead publishes a message and returns by how much the stream's time of it is ahead of the machine's clock, to the hour.
func storedAhead(t *testing.T, js jetstream.JetStream, stream jetstream.Stream) time.Duration {
	t.Helper()
	ack, err := js.Publish(t.Context(), events.ClockSubject, nil, jetstream.WithRetryAttempts(240)) // a cluster may elect a leader
	if err != nil {
		t.Fatal(err)
	}
	message, err := stream.GetMsg(t.Context(), ack.Sequence)
	if err != nil {
		t.Fatal(err)
	}
	return time.Until(message.Time).Round(time.Hour)
}

// A server stamps messages by the clock that was set, also after a restart. A request does not notice that the clock jumps.
func TestServer_SetClock(t *testing.T) {
	t.Parallel()
	s := wallclock.NewServer(t)
	js := eventstest.JetStream(t, s.URL())
	stream := eventstest.CreateStream(t, js, 1)
	for _, ahead := range []time.Duration{0, day, -time.Hour, 0, day} {
		s.SetClock(ahead)
		if got := storedAhead(t, js, stream); got != ahead {
			t.Errorf("message stored ahead by %v, want %v", got, ahead)
		}
	}
	s.Kill()
	s.Start()
	eventstest.Eventually(t, "the server answers", func() bool {
		_, err := stream.Info(t.Context())
		return err == nil
	})
	if got := storedAhead(t, js, stream); got != day {
		t.Errorf("message stored ahead by %v after a restart, want %v", got, day)
	}
}

// The stamps of a cluster are those of the leader's clock.
func TestNewCluster(t *testing.T) {
	t.Parallel()
	clocks := []time.Duration{0, day, -day}
	cluster := wallclock.NewCluster(t, clocks...)
	js := eventstest.JetStream(t, cluster.URL())
	var stream jetstream.Stream
	config := events.StreamConfig(events.StreamName, 1, len(clocks))
	eventstest.Eventually(t, "the servers know each other, and create a stream", func() (created bool) {
		var err error
		stream, err = js.CreateStream(t.Context(), config)
		return err == nil
	})
	leader := func() int {
		info, err := stream.Info(t.Context())
		if err != nil {
			return -1
		}
		return slices.IndexFunc(cluster, func(s *wallclock.Server) bool { return s.Name() == info.Cluster.Leader })
	}
	var number int
	var got time.Duration
	eventstest.Eventually(t, "a message is stored under one leader", func() bool {
		if number = leader(); number < 0 {
			return false
		}
		got = storedAhead(t, js, stream)
		return leader() == number
	})
	if got != clocks[number] {
		t.Errorf("message stored ahead by %v, want %v of the leader, server %d", got, clocks[number], number)
	}
}
