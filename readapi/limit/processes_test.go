package limit

import (
	"bufio"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/eventstest"
)

//nolint:gochecknoglobals // a flag is
var processes = flag.Bool("processes", false, "run the tests with eight readers as processes, which take minutes")

// With this variable, the test binary is a reader. Each line of its standard input has a lineage, a report operation (or none) and a number
// of permits. It takes them at once, and prints how many it got.
const (
	childNATS = "CALLBOARD_TEST_NATS"
	noReport  = "-"
)

func runChild() int {
	if err := readInChild(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func readInChild() error {
	conn, err := nats.Connect(os.Getenv(childNATS), nats.Timeout(timeout), nats.MaxReconnects(-1),
		nats.ReconnectWait(20*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(timeout))
	if err != nil {
		return err
	}
	l, err := New(testConfig(js))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	for {
		var lineage, report string
		var requests int
		if _, err := fmt.Scan(&lineage, &report, &requests); err == io.EOF { //nolint:errorlint // Scan returns it as it is
			cancel()
			return <-ended
		} else if err != nil {
			return err
		}
		r := Request{Lineage: uuid.MustParse(lineage)}
		if report != noReport {
			r.Report = report
		}
		fmt.Println(l.takeInParallel(ctx, r, requests))
	}
}

// takeInParallel takes permits at once and returns how many it got.
func (l *Limiter) takeInParallel(ctx context.Context, r Request, requests int) int64 {
	var allowed atomic.Int64
	done := make(chan struct{})
	for range requests {
		go func() {
			if l.Take(ctx, r).Allowed {
				allowed.Add(1)
			}
			done <- struct{}{}
		}()
	}
	for range requests {
		<-done
	}
	return allowed.Load()
}

// child is a reader that runs as a process.
type child struct {
	*testing.T
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

func startChildren(t *testing.T, url string, n int) []*child {
	t.Helper()
	children := make([]*child, n)
	for i := range children {
		c := &child{T: t, command: exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])}
		c.command.Env, c.command.Stderr = append(os.Environ(), childNATS+"="+url), os.Stderr
		out, err := c.command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if c.in, err = c.command.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		c.out = bufio.NewScanner(out)
		if err := c.command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.stop)
		children[i] = c
	}
	return children
}

func (c *child) stop() {
	_ = c.in.Close() // which ends the process
	if err := c.command.Wait(); err != nil {
		c.Errorf("reader: %v", err)
	}
}

// take asks the reader to take permits.
func (c *child) take(r Request, requests int) {
	c.Helper()
	if _, err := fmt.Fprintln(c.in, r.Lineage, cmp.Or(r.Report, noReport), requests); err != nil {
		c.Fatal(err)
	}
}

// allowed waits for the reader's result.
func (c *child) allowed() (n int) {
	c.Helper()
	if !c.out.Scan() {
		c.Fatalf("reader ended: %v", c.out.Err())
	}
	if _, err := fmt.Sscan(c.out.Text(), &n); err != nil {
		c.Fatal(err)
	}
	return n
}

// takeFrom takes 500 permits at once, over all readers, and returns how many they got.
func takeFrom(children []*child, r Request) (n int) {
	for i, c := range children {
		c.take(r, (500-i+len(children)-1)/len(children))
	}
	for _, c := range children {
		n += c.allowed()
	}
	return n
}

// Of 500 requests of one key at once, over eight processes, exactly 120 are allowed, 200 times. In every tenth round one process is frozen
// for a while. After every fiftieth NATS restarts empty, and the budget of the round before stays used up.
func TestProcesses_Exact(t *testing.T) {
	if !*processes {
		t.Skip("run it with -processes")
	}
	server := eventstest.NewServer(t)
	children := startChildren(t, server.URL(), 8)
	began := time.Now()
	for round := range 200 {
		r := Request{Lineage: uuid.New()}
		frozen := children[round%len(children)].command.Process
		if round%10 == 9 {
			_ = frozen.Signal(syscall.SIGSTOP)
			time.AfterFunc(2*time.Second, func() { _ = frozen.Signal(syscall.SIGCONT) })
		}
		if got := takeFrom(children, r); got != 120 {
			t.Errorf("round %d: allowed = %d of 500, want 120", round, got)
		}
		if round%50 == 49 {
			takeFrom(children, r) // so that every reader knows that the budget is used up
			server.Restart()
			if got := takeFrom(children, r); got != 0 {
				t.Errorf("round %d: allowed after a restart of NATS = %d, want 0", round, got)
			}
			awaitReaders(t, children)
		}
	}
	t.Logf("200 rounds of 500 requests over %d processes took %s", len(children), time.Since(began).Round(time.Millisecond))
}

// awaitReaders waits until all readers decide with NATS again: one of them uses up a budget, and the others know.
func awaitReaders(t *testing.T, children []*child) {
	t.Helper()
	eventstest.Eventually(t, "all readers decide with NATS", func() bool { return takeFrom(children, Request{Lineage: uuid.New()}) == 120 })
}

// The stream has three replicas, and its leader steps down in the middle of each round, 50 times. While there is no leader, requests for
// reports are refused. Together with those that follow, exactly 120 are allowed: no change of the leader gives a permit twice, and none
// loses one.
func TestProcesses_LeaderChanges(t *testing.T) {
	if !*processes {
		t.Skip("run it with -processes")
	}
	urls := eventstest.NewCluster(t).URL()
	conn := eventstest.Connect(t, urls)
	createReplicatedStream(t, conn)
	children := startChildren(t, urls, 8)
	awaitReaders(t, children)
	later := 0
	for round := range 50 {
		r, began := Request{Lineage: uuid.New(), Report: listReports}, time.Now()
		steppedDown := make(chan error, 1)
		time.AfterFunc(time.Duration(round%20)*time.Millisecond, func() {
			_, err := conn.Request(jetstream.DefaultAPIPrefix+"STREAM.LEADER.STEPDOWN."+StreamName, nil, timeout)
			steppedDown <- err
		})
		allowed := takeFrom(children, r)
		if allowed < 120 {
			later++
		}
		if err := <-steppedDown; err != nil {
			t.Fatal(err)
		}
		for allowed < 120 && time.Since(began) < 30*time.Second {
			<-time.After(50 * time.Millisecond)
			allowed += takeFrom(children, r)
		}
		more := takeFrom(children, r)
		switch took := time.Since(began); {
		case took > 50*time.Second:
			t.Logf("round %d took %s, nearly a window: it shows nothing", round, took)
		case allowed+more != 120:
			t.Errorf("round %d: allowed = %d, want 120", round, allowed+more)
		}
	}
	t.Logf("rounds in which the leader's change refused requests = %d of 50", later)
}

// createReplicatedStream creates the stream with three replicas, as soon as the cluster has a leader.
func createReplicatedStream(t *testing.T, conn *nats.Conn) {
	t.Helper()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	eventstest.Eventually(t, "the stream is created", func() bool {
		_, err := js.CreateStream(t.Context(), StreamConfig(3))
		return err == nil
	})
}

// For longer than two windows, readers ask continuously. By the server's timestamps, no window of a minute has more than 120 permits,
// and each that the readers could fill has at least 119.
func TestProcesses_EveryWindow(t *testing.T) {
	if !*processes {
		t.Skip("run it with -processes")
	}
	server := eventstest.NewServer(t)
	children := startChildren(t, server.URL(), 4)
	awaitReaders(t, children)
	conn := eventstest.Connect(t, server.URL())
	lineage := uuid.New()
	granted, allowed := recordPermits(t, conn, lineage), 0
	for began := time.Now(); time.Since(began) < 150*time.Second; {
		for _, c := range children {
			c.take(Request{Lineage: lineage}, 5)
		}
		for _, c := range children {
			allowed += c.allowed()
		}
	}
	times := granted()
	missed := allowed - len(times) // in versions that were replaced before the consumer got them
	if missed < 0 || missed > allowed/50 {
		t.Errorf("recorded permits = %d, want nearly all of %d that were allowed", len(times), allowed)
	}
	most, least := 0, len(times)
	for i := range times {
		n := 0
		for _, at := range times[i:] {
			if at.Sub(times[i]) < time.Minute {
				n++
			}
		}
		most = max(most, n)
	}
	for start := times[0]; times[len(times)-1].Sub(start) > 61*time.Second; start = start.Add(time.Second) {
		n := 0
		for _, at := range times {
			if since := at.Sub(start); since >= 0 && since < time.Minute+300*time.Millisecond {
				n++
			}
		}
		least = min(least, n)
	}
	t.Logf("permits = %d, missed = %d, most within 60 s = %d, least within 60.3 s = %d", len(times), missed, most, least)
	if most > 120 || least+missed < 119 {
		t.Errorf("permits within a minute = %d to %d, want 119 to 120", least, most)
	}
}

// recordPermits records when the server stored each permit, until stop is called.
func recordPermits(t *testing.T, conn *nats.Conn, lineage uuid.UUID) (stop func() []time.Time) {
	t.Helper()
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(timeout))
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := js.OrderedConsumer(t.Context(), StreamName, jetstream.OrderedConsumerConfig{FilterSubjects: []string{subjectPrefix + lineage.String()}})
	if err != nil {
		t.Fatal(err)
	}
	var times []time.Time
	record, err := consumer.Consume(func(m jetstream.Msg) {
		l, err := parseLog(m.Data())
		if err != nil {
			t.Error(err)
			return
		}
		meta, err := m.Metadata()
		if err != nil {
			t.Error(err)
			return
		}
		if b := l.bucket(tierPolicy); b != nil {
			for range b.fresh {
				times = append(times, meta.Timestamp)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() []time.Time {
		record.Stop()
		<-record.Closed()
		return times
	}
}
