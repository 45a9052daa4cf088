package projector_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/sample"
	"callboard/projector"
	"callboard/projector/projectortest"
)

// The test binary runs a projector where these are set.
const (
	childNATS     = "CALLBOARD_TEST_NATS"
	childDatabase = "CALLBOARD_TEST_DATABASE"
)

// runChild runs a projector in a child process until SIGTERM.
func runChild() int {
	config, closing, err := projectortest.Connect(os.Getenv(childNATS), os.Getenv(childDatabase))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer closing()
	config.BatchSize = 50 // many commits, so that kills interrupt some
	p, err := projector.New(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return eventstest.RunChild(p.Run)
}

// spawn starts a projector in a child process.
func (h *harness) spawn() *exec.Cmd {
	h.Helper()
	return eventstest.StartChild(h, childNATS+"="+h.URL, childDatabase+"="+h.Database.RoleURL("callboard_projector"))
}

//nolint:gochecknoglobals // flags are
var kills = flag.Int("kills", 25, "how often TestProjector_KilledAtRandom kills the projector")

// A projector that is killed again and again ends with the rows of one that runs undisturbed.
func TestProjector_KilledAtRandom(t *testing.T) {
	h := newHarness(t)
	history := companyHistory()
	seed := rand.Uint64()
	t.Logf("seed %d, %d events", seed, len(history))
	random := rand.New(rand.NewPCG(seed, 0))
	lifetime, history := h.lifetime(history[:100]), history[100:]
	advanced, interrupted, lives := 0, 0, 0
	// On a slow machine most kills come before any work.
	for ; lives < *kills || lives < 8**kills && (advanced == 0 || interrupted == 0); lives++ {
		switch again := lives > 0 && lives%*kills == 0; {
		case again && advanced == 0:
			lifetime *= 2 // the machine has become slower since it was measured
		case again && interrupted == 0:
			lifetime /= 2
		}
		if lives >= *kills {
			h.PublishStates(projectortest.Call(h.NewSystemIn(0), h.NewSystemIn(0)))
		}
		// Every process finds new work.
		portion := history[min(lives, *kills)*len(history) / *kills : min(lives+1, *kills)*len(history) / *kills]
		if err := h.Publisher.Publish(t.Context(), portion...); err != nil {
			t.Fatal(err)
		}
		before := h.applied()
		child := h.spawn()
		// The moment of the kill is random, so nothing is polled here.
		moment := time.NewTimer(time.Duration(random.Int64N(int64(lifetime))))
		<-moment.C
		eventstest.KillChild(t, child)
		if h.applied() > before {
			advanced++
		}
		if h.unapplied() {
			interrupted++
		}
	}
	t.Logf("%d processes: %d committed, %d were interrupted", lives, advanced, interrupted)
	if advanced == 0 || interrupted == 0 {
		t.Errorf("processes that committed = %d and that were interrupted = %d, want some of both", advanced, interrupted)
	}
	h.finish()
	killed := h.Database.Projection(t)
	t.Logf("%d rows", killed.RowCount())
	h.Database.ClearProjection(t)
	h.StartProjector()
	h.WaitUntilCaughtUp()
	h.RequireEqualTables("tables of an undisturbed projector", killed)
}

func companyHistory() []events.Event {
	company := sample.New(sample.Config{Seed: 7, Systems: 6, Calls: 1500, Days: 20, Until: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)})
	return slices.Collect(company.Events())
}

// lifetime is how long a process takes on this machine to start and to apply a few events: a kill within it can interrupt anything.
func (h *harness) lifetime(few []events.Event) time.Duration {
	h.Helper()
	if err := h.Publisher.Publish(h.Context(), few...); err != nil {
		h.Fatal(err)
	}
	child := h.spawn()
	began := time.Now()
	h.WaitUntilCaughtUp()
	took := time.Since(began)
	eventstest.KillChild(h, child)
	return took
}

// applied rises with every commit of a projector.
func (h *harness) applied() int64 {
	h.Helper()
	return h.QueryInt("select coalesce(sum(sequence), 0)::bigint from projection.position")
}

// unapplied tells whether a partition has a message above its position, or no position yet.
func (h *harness) unapplied() bool {
	h.Helper()
	for partition := range projectortest.Partitions {
		position := h.QueryInt("select coalesce(max(sequence), 0) from projection.position where partition = $1", partition)
		_, err := h.Stream.GetMsg(h.Context(), uint64(position)+1, jetstream.WithGetMsgSubject(events.PartitionFilter(partition)))
		if err == nil {
			return true
		}
		if !errors.Is(err, jetstream.ErrMsgNotFound) {
			h.Fatal(err)
		}
	}
	return false
}

// finish runs one more process until nothing is left, and stops it by SIGTERM.
func (h *harness) finish() {
	h.Helper()
	child := h.spawn()
	h.WaitUntilCaughtUp()
	eventstest.StopChild(h, child)
}
