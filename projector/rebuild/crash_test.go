package rebuild_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/rebuild"
)

// Under these the test binary is a rebuild and nothing else, which kills itself so many percent into a step.
const (
	childNATS     = "CALLBOARD_TEST_NATS"
	childDatabase = "CALLBOARD_TEST_DATABASE"
	childStep     = "CALLBOARD_TEST_STEP"
	childPercent  = "CALLBOARD_TEST_PERCENT"
)

// small makes many parts and portions, so that kills find all of them.
func small(c *rebuild.Config) { c.Memory, c.Batch = 1, 50 }

func runChild() int {
	if err := rebuildAsChild(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func rebuildAsChild() error {
	pool, err := pgxpool.New(context.Background(), os.Getenv(childDatabase))
	if err != nil {
		return err
	}
	defer pool.Close()
	nc, err := nats.Connect(os.Getenv(childNATS))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	var percent int64
	if _, err := fmt.Sscan(os.Getenv(childPercent), &percent); err != nil {
		return err
	}
	config := rebuild.Config{JetStream: js, Stream: events.StreamName, Database: pool, Progress: suicide(rebuild.Step(os.Getenv(childStep)), percent)}
	small(&config)
	_, err = rebuild.Run(context.Background(), config, true)
	return err
}

// suicide kills the process at the first word of a step that is so many percent done.
func suicide(step rebuild.Step, percent int64) func(rebuild.Progress) {
	return func(p rebuild.Progress) {
		if p.Step == step && p.Done*100 >= p.Total*percent {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}

// spawn starts a rebuild as a process of its own.
func (s *stage) spawn(step rebuild.Step, percent int) *exec.Cmd {
	s.TB.Helper()
	child := exec.CommandContext(s.TB.Context(), os.Args[0])
	child.Env = append(os.Environ(), childNATS+"="+s.Server.URL(), childDatabase+"="+s.Database.URL(),
		childStep+"="+string(step), fmt.Sprintf("%s=%d", childPercent, percent))
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		s.TB.Fatal(err)
	}
	return child
}

// ended waits for a process and tells whether it was killed.
func (s *stage) ended(child *exec.Cmd) (killed bool) {
	s.TB.Helper()
	err := child.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status, ok := exit.Sys().(syscall.WaitStatus)
		killed = ok && status.Signal() == syscall.SIGKILL
	}
	if err != nil && !killed {
		s.TB.Errorf("rebuild process: %v", err)
	}
	// PostgreSQL notices a moment later that nobody is there any more.
	eventstest.Eventually(s.TB, "the killed process's lock is gone", func() bool { return s.QueryInt(advisoryLocks) == 0 })
	return killed
}

const advisoryLocks = "select count(*) from pg_locks where locktype = 'advisory' and objsubid = 1 and database = " +
	"(select oid from pg_database where datname = current_database())"

// resume ends what killed runs began, and holds against it that done parts are not done again.
func (s *stage) resume() {
	s.TB.Helper()
	building := s.QueryInt("select count(*) from control.generation where state = 'building'")
	done := s.QueryInt("select coalesce(sum(read), 0)::bigint from control.generation_part p join control.generation g on g.id = p.generation where state = 'building'")
	total := s.QueryInt("select sum(read)::bigint from projection.message_count")
	result := s.rebuild(small)
	if result.Resumed != (building == 1) || result.Messages != total-done {
		s.TB.Errorf("resumed %v with %d messages of %d, %d of which were done", result.Resumed, result.Messages, total, done)
	}
	if result.Comparison.Differs() {
		s.TB.Errorf("%+v", result.Comparison)
	}
}

// tidy fails where a rebuild left behind what nobody needs.
func (s *stage) tidy() {
	s.TB.Helper()
	const strangers = `select count(*) from pg_namespace where nspname like 'generation%'
		and nspname not in (select 'generation_' || id from control.generation where state = 'previous')`
	if n := s.QueryInt(strangers); n != 0 {
		s.TB.Errorf("%d schemas left behind", n)
	}
	// PostgreSQL notices a moment later that a session is over.
	eventstest.Eventually(s.TB, "no advisory lock is left behind", func() bool { return s.QueryInt(advisoryLocks) == 0 })
	if n := s.QueryInt("select count(*) from control.generation where state in ('live', 'previous')"); n != 2 {
		s.TB.Errorf("%d generations, want the live one and the kept one", n)
	}
	for consumer := range s.Stream.ListConsumers(s.TB.Context()).Info() {
		if !strings.HasPrefix(consumer.Name, "projector-") && consumer.Config.InactiveThreshold <= 0 {
			s.TB.Errorf("consumer %s stays for ever", consumer.Name)
		}
	}
}

// Killed at any step, a rebuild is gone on with by the next one, which does nothing twice.
func TestRun_KilledAtEveryStep(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	s.Publish(company(3, 120)...)
	s.poison()
	s.WaitUntilCaughtUp()
	before := s.Database.Projection(t)
	for _, at := range []struct {
		step    rebuild.Step
		percent int
	}{
		{rebuild.StepPlan, 0},
		{rebuild.StepFold, 0},
		{rebuild.StepFold, 10},
		{rebuild.StepFold, 50},
		{rebuild.StepFold, 90},
		{rebuild.StepIndex, 1},
		{rebuild.StepIndex, 40},
		{rebuild.StepIndex, 100},
		{rebuild.StepFollow, 0},
		{rebuild.StepSwitch, 0},
		{rebuild.StepDrop, 0},
	} {
		t.Run(fmt.Sprint(at.step, at.percent), func(t *testing.T) {
			if !s.ended(s.spawn(at.step, at.percent)) {
				t.Fatal("it came to its end")
			}
			s.resume()
			s.RequireEqualTables("resumed", before)
			s.tidy()
		})
	}
	s.mustVerify("after all that")
}

// An unfinished generation can be dropped. The next rebuild then has nothing to resume.
func TestDrop_Unfinished(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.StartProjector()
	s.Publish(company(37, 60)...)
	s.WaitUntilCaughtUp()
	drop := func(want []int64) {
		t.Helper()
		if got, err := rebuild.Drop(t.Context(), s.config(), rebuild.Unfinished); err != nil || !slices.Equal(got, want) {
			t.Errorf("dropped = %v, error = %v, want %v", got, err, want)
		}
	}
	drop(nil)
	s.ended(s.spawn(rebuild.StepFold, 50))
	drop([]int64{2})
	if n := s.QueryInt("select count(*) from pg_namespace where nspname like 'generation%'"); n != 0 {
		t.Errorf("schemas of generations = %d, want 0", n)
	}
	if result := s.rebuild(small); result.Resumed || result.Generation != 3 || result.Comparison.Differs() {
		t.Errorf("result = %+v, want generation 3, not resumed, without differences", result)
	}
}

// Killed at any moment, again and again, a rebuild comes to the same end while events go on.
func TestRun_KilledAtRandom(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	history := company(5, 400)
	s.Publish(history[:len(history)/2]...)
	s.WaitUntilCaughtUp()
	began := time.Now()
	s.rebuild(small)
	life := time.Since(began)
	seed := rand.Uint64()
	t.Logf("seed %d, a life of %v", seed, life)
	dice := rand.New(rand.NewPCG(seed, 0))
	rest := history[len(history)/2:]
	killed := 0
	const kills = 6
	for i := range kills {
		s.Publish(rest[i*len(rest)/kills : (i+1)*len(rest)/kills]...)
		child := s.spawn("", 0)
		// The moment of the kill is what is random; nothing is waited for.
		moment := time.NewTimer(time.Duration(dice.Int64N(int64(life))))
		<-moment.C
		_ = child.Process.Kill() // it may have ended
		if s.ended(child) {
			killed++
		}
	}
	t.Logf("%d killed of %d", killed, kills)
	s.WaitUntilCaughtUp()
	whole := s.Database.Projection(t)
	if result := s.rebuild(small); result.Comparison.Differs() {
		t.Errorf("%+v", result.Comparison)
	}
	s.RequireEqualTables("rebuilt", whole)
	s.tidy()
	s.RequireEqualTables("replayed", s.Replay())
}
