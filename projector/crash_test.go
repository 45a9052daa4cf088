package projector_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"callboard/events"
	"callboard/events/sample"
	"callboard/projector"
)

// Under these the test binary is a projector and nothing else.
const (
	childNATS     = "CALLBOARD_TEST_NATS"
	childDatabase = "CALLBOARD_TEST_DATABASE"
)

// runChild is a projector process: it says a line once it runs, and ends when it is told to or killed.
func runChild() int {
	config, closing, err := connect(os.Getenv(childNATS), os.Getenv(childDatabase))
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
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Println("running")
	if err := p.Run(ctx); err != nil {
		return 1
	}
	return 0
}

// spawn starts a projector as a process of its own and returns once it runs.
func (s *stage) spawn() *exec.Cmd {
	s.tb.Helper()
	child := exec.CommandContext(s.tb.Context(), os.Args[0])
	child.Env = append(os.Environ(), childNATS+"="+s.server.URL(), childDatabase+"="+s.database.RoleURL("callboard_projector"))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		s.tb.Fatal(err)
	}
	if err := child.Start(); err != nil {
		s.tb.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		s.tb.Fatalf("projector process: %v", err)
	}
	return child
}

//nolint:gochecknoglobals // flags are
var kills = flag.Int("kills", 25, "how often TestProjector_KilledAtRandom kills the projector")

// Killed without warning at any point, again and again, a projector ends with the rows of one that was left alone.
func TestProjector_KilledAtRandom(t *testing.T) {
	s := newStage(t)
	company := sample.New(sample.Config{Seed: 7, Systems: 6, Calls: 1500, Days: 20, Until: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)})
	var list []events.Event
	for e := range company.Directory() {
		list = append(list, e)
	}
	for e := range company.History() {
		list = append(list, e)
	}
	published := make(chan error, 1)
	go func() {
		published <- trickle(t.Context(), s.publisher, list, *kills)
	}()
	seed := rand.Uint64()
	t.Logf("seed %d, %d events", seed, len(list))
	dice := rand.New(rand.NewPCG(seed, 0))
	for range *kills {
		child := s.spawn()
		// The kill's moment is what is random here; nothing is waited for.
		timer := time.NewTimer(time.Duration(dice.IntN(300)) * time.Millisecond)
		<-timer.C
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // "signal: killed" is what was asked for
	}
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	child := s.spawn()
	s.caughtUp()
	if err := child.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err != nil {
		t.Errorf("a graceful stop: %v", err)
	}
	killed := s.database.Projection(t)
	t.Logf("%d rows", killed.Count())
	s.database.Forget(t)
	s.start()
	s.caughtUp()
	s.mustEqual("uninterrupted", killed)
}

// trickle publishes in portions, so that every life of the projector finds something to do.
func trickle(ctx context.Context, publisher *events.Publisher, list []events.Event, portions int) error {
	size := len(list)/portions + 1
	for len(list) > 0 {
		n := min(size, len(list))
		if err := publisher.Publish(ctx, list[:n]...); err != nil {
			return err
		}
		list = list[n:]
		pause := time.NewTimer(150 * time.Millisecond)
		<-pause.C
	}
	return nil
}
