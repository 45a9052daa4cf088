package projector_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/sample"
	"callboard/projector"
	"callboard/projector/projectortest"
)

// Under these the test binary is a projector and nothing else.
const (
	childNATS     = "CALLBOARD_TEST_NATS"
	childDatabase = "CALLBOARD_TEST_DATABASE"
)

// runChild is a projector process: it says a line once it runs, and ends when it is told to or killed.
func runChild() int {
	config, closing, err := projectortest.Connect(os.Getenv(childNATS), os.Getenv(childDatabase))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer closing()
	config.BatchSize = 50 // many commits, so that kills find all of them
	p, err := projector.New(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return eventstest.RunChild(p.Run)
}

// spawn starts a projector as a process of its own and returns once it runs.
func (s *stage) spawn() *exec.Cmd {
	s.TB.Helper()
	return eventstest.StartChild(s.TB, childNATS+"="+s.Server.URL(), childDatabase+"="+s.Database.RoleURL("callboard_projector"))
}

//nolint:gochecknoglobals // flags are
var kills = flag.Int("kills", 25, "how often TestProjector_KilledAtRandom kills the projector")

// Killed without warning at any point, again and again, a projector ends with the rows of one that was left alone.
func TestProjector_KilledAtRandom(t *testing.T) {
	s := newStage(t)
	history := companyHistory()
	seed := rand.Uint64()
	t.Logf("seed %d, %d events", seed, len(history))
	dice := rand.New(rand.NewPCG(seed, 0))
	life := s.life(history[:100])
	advanced, interrupted, lives := 0, 0, 0
	// On a slow machine most kills come before any work.
	for ; lives < *kills || lives < 8**kills && (advanced == 0 || interrupted == 0); lives++ {
		// Every life finds work that its predecessors have not done.
		portion := history[min(lives, *kills)*len(history) / *kills : min(lives+1, *kills)*len(history) / *kills]
		if err := s.Publisher.Publish(t.Context(), portion...); err != nil {
			t.Fatal(err)
		}
		before := s.applied()
		child := s.spawn()
		// The moment of the kill is what is random; nothing is waited for.
		moment := time.NewTimer(time.Duration(dice.Int64N(int64(life))))
		<-moment.C
		eventstest.KillChild(t, child)
		if s.applied() > before {
			advanced++
		}
		if s.unapplied() {
			interrupted++
		}
	}
	t.Logf("%d lives: %d did some work, %d left some undone", lives, advanced, interrupted)
	if advanced == 0 || interrupted == 0 {
		t.Error("the kills came too early or too late to prove anything")
	}
	s.finish()
	killed := s.Database.Projection(t)
	t.Logf("%d rows", killed.RowCount())
	s.Database.TruncateProjection(t)
	s.StartProjector()
	s.WaitUntilCaughtUp()
	s.RequireEqualTables("uninterrupted", killed)
}

func companyHistory() []events.Event {
	company := sample.New(sample.Config{Seed: 7, Systems: 6, Calls: 1500, Days: 20, Until: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)})
	return slices.Collect(company.Events())
}

// life is how long a process takes on this machine to start and to apply a few events: a kill within it comes at any point.
func (s *stage) life(few []events.Event) time.Duration {
	s.TB.Helper()
	if err := s.Publisher.Publish(s.TB.Context(), few...); err != nil {
		s.TB.Fatal(err)
	}
	child := s.spawn()
	began := time.Now()
	s.WaitUntilCaughtUp()
	took := time.Since(began)
	eventstest.KillChild(s.TB, child)
	return took
}

// applied is a number that rises with whatever a projector commits.
func (s *stage) applied() int64 {
	s.TB.Helper()
	return s.QueryInt("select coalesce(sum(sequence), 0)::bigint from projection.position")
}

// unapplied tells whether a partition has a message above its position, or no position yet.
func (s *stage) unapplied() bool {
	s.TB.Helper()
	for partition := range projectortest.Partitions {
		position := s.QueryInt("select coalesce(max(sequence), 0) from projection.position where partition = $1", partition)
		_, err := s.Stream.GetMsg(s.TB.Context(), uint64(position)+1, jetstream.WithGetMsgSubject(events.PartitionFilter(partition)))
		if err == nil {
			return true
		}
		if !errors.Is(err, jetstream.ErrMsgNotFound) {
			s.TB.Fatal(err)
		}
	}
	return false
}

// finish lets one more process do what is left, and stops it as an operator would.
func (s *stage) finish() {
	s.TB.Helper()
	child := s.spawn()
	s.WaitUntilCaughtUp()
	if err := child.Process.Signal(syscall.SIGTERM); err != nil {
		s.TB.Fatal(err)
	}
	if err := child.Wait(); err != nil {
		s.TB.Errorf("a graceful stop: %v", err)
	}
}
