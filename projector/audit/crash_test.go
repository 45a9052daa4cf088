package audit_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events/audit"
	filer "callboard/projector/audit"
	journal "callboard/readapi/audit"
)

// Under these the test binary is a filer and nothing else.
const (
	childNATS     = "CALLBOARD_TEST_NATS"
	childDatabase = "CALLBOARD_TEST_DATABASE"
)

// runChild is a filer process: it says a line once it runs, and ends when it is told to or killed.
func runChild() int {
	config, closing, err := connect(os.Getenv(childNATS), os.Getenv(childDatabase))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer closing()
	f, err := filer.New(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Println("running")
	if err := f.Run(ctx); err != nil {
		return 1
	}
	return 0
}

// spawn starts a filer as a process of its own and returns once it runs.
func (s *stage) spawn() *exec.Cmd {
	s.Helper()
	child := exec.CommandContext(s.Context(), os.Args[0])
	child.Env = append(os.Environ(), childNATS+"="+s.server.URL(), childDatabase+"="+s.database.RoleURL("callboard_projector"))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := child.Start(); err != nil {
		s.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		s.Fatalf("filer process: %v", err)
	}
	return child
}

// From a journal to the rows, while filers are killed without warning and others begin: every entry has one row.
func TestWriter_KilledAtRandom(t *testing.T) {
	s := newStage(t)
	s.impatient()
	r := s.record()
	life := s.life()
	const kills = 10
	advanced, interrupted, lives := 0, 0, 0
	// On a slow machine most kills come before any work.
	for ; lives < kills || lives < 8*kills && (advanced == 0 || interrupted == 0); lives++ {
		before := s.filed()
		child := s.spawn()
		// The moment of the kill is what is random; nothing is waited for.
		moment := time.NewTimer(rand.N(2 * life))
		<-moment.C
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // "signal: killed" is what was asked for
		if s.filed() > before {
			advanced++
		}
		if !s.empty() {
			interrupted++
		}
	}
	recorded := r.end()
	t.Logf("%d entries, %d lives: %d filed some, %d left some undone", len(recorded), lives, advanced, interrupted)
	if advanced == 0 || interrupted == 0 {
		t.Error("the kills came too early or too late to prove anything")
	}
	child := s.spawn()
	s.drained()
	if err := child.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err != nil {
		t.Errorf("a graceful stop: %v", err)
	}
	s.mustHold(recorded)
}

// life is how long a process takes on this machine to start and to file something: a kill within twice that comes at any point.
func (s *stage) life() time.Duration {
	s.Helper()
	began := time.Now()
	child := s.spawn()
	s.await("an entry filed", func() bool { return s.filed() > 0 })
	took := time.Since(began)
	if err := child.Process.Kill(); err != nil {
		s.Fatal(err)
	}
	_ = child.Wait() // "signal: killed" is what was asked for
	return took
}

// Two filers at once, ended at random points again and again, file everything once.
func TestWriter_StoppedAtRandom(t *testing.T) {
	s := newStage(t)
	r := s.record()
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			for range 12 {
				s.live(rand.N(300 * time.Millisecond))
			}
		})
	}
	running.Wait()
	recorded := r.end()
	t.Logf("%d entries, %d filed before the last life", len(recorded), s.filed())
	s.start()
	s.drained()
	s.mustHold(recorded)
}

// live runs a filer for a while.
func (s *stage) live(moment time.Duration) {
	config, closing, err := connect(s.server.URL(), s.database.RoleURL("callboard_projector"))
	if err != nil {
		s.Error(err)
		return
	}
	defer closing()
	f, err := filer.New(config)
	if err != nil {
		s.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), moment)
	defer cancel()
	if err := f.Run(ctx); err != nil {
		s.Error(err)
	}
}

// recording is a journal into which entries are recorded as fast as they come.
type recording struct {
	end func() []audit.Entry // stops, and is what was recorded
}

// record starts a recording from a few goroutines.
func (s *stage) record() recording {
	s.Helper()
	j, err := journal.NewQueue(journal.Config{JetStream: s.js, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry()})
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- j.Run(ctx) }()
	var requests sync.WaitGroup
	const clients = 2
	recorded := make([][]audit.Entry, clients)
	for i := range recorded {
		requests.Go(func() { recorded[i] = record(ctx, j) })
	}
	end := sync.OnceValue(func() []audit.Entry {
		cancel()
		requests.Wait()
		if err := <-done; err != nil {
			s.Error(err)
		}
		return slices.Concat(recorded...)
	})
	s.Cleanup(func() { end() })
	return recording{end}
}

// record keeps a client's requests coming, a few in a moment, until ctx ends or there are as many as can be filed in time
// however slow the machine is.
func record(ctx context.Context, j *journal.Queue) []audit.Entry {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var recorded []audit.Entry
	keys := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	for len(recorded) < 20_000 {
		select {
		case <-ctx.Done():
			return recorded
		case <-tick.C:
		}
		for i := range 5 {
			e := entry(keys[i%len(keys)], time.Now())
			if j.Reserve() != nil {
				continue // full, or ending: a request that is refused leaves nothing
			}
			j.Record(e)
			recorded = append(recorded, e)
		}
	}
	return recorded
}

// mustHold holds the tables against what was recorded.
func (s *stage) mustHold(recorded []audit.Entry) {
	s.Helper()
	newest := make(map[uuid.UUID]time.Time)
	want := make([]uuid.UUID, len(recorded))
	for i, e := range recorded {
		want[i] = e.ID
		if e.At.After(newest[e.KeyID]) {
			newest[e.KeyID] = e.At
		}
	}
	got := s.ids()
	compare := func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
	slices.SortFunc(want, compare)
	slices.SortFunc(got, compare)
	if !slices.Equal(got, want) {
		s.Errorf("%d entries filed, %d recorded", len(got), len(want))
	}
	for key, at := range newest {
		if use := query[time.Time](s, "select at from access.key_use where key_id = $1", key); len(use) != 1 || !use[0].Equal(at) {
			s.Errorf("key %s was used last at %v, not %v", key, at, use)
		}
	}
	if n := s.deadLetters(); n != 0 {
		s.Errorf("%d dead letters", n)
	}
}
