package fault_test

import (
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/projector/rebuild"
)

// building starts a rebuild, in parts and portions of any size.
func (s *stage) building() command {
	s.tb.Helper()
	return s.begin(append([]string{"rebuild"}, s.effort()...)...)
}

// effort is how a rebuild is to go about it.
func (s *stage) effort() []string {
	args := []string{"--batch", strconv.Itoa(50 << s.dice.IntN(6)), "--workers", strconv.Itoa(1 + s.dice.IntN(3))}
	if s.flip() {
		args = append(args, "--memory", "1MiB")
	}
	if s.flip() {
		args = append(args, "--keep")
	}
	return args
}

// rebuilt runs a rebuild to its end, now and then back and forth, and holds what it made against the stream.
func (s *stage) rebuilt() {
	s.tb.Helper()
	began := time.Now()
	var result rebuild.Result
	s.command(&result, append([]string{"rebuild"}, s.effort()...)...)
	s.whole = time.Since(began)
	if n := len(result.Comparison.Changes); n > 0 {
		s.tb.Errorf("a rebuild has changed something: %+v", result.Comparison)
	}
	if result.Kept && s.flip() {
		s.command(&result, "rollback")
	}
	s.hang()
	s.verify()
}

// killRebuild kills a rebuild at any time, and then has another one go on.
func (s *stage) killRebuild() {
	c := s.building()
	moment := time.NewTimer(time.Duration(s.dice.Int64N(int64(s.whole))))
	<-moment.C
	c.cut()
	s.rebuilt()
}

// The places where a rebuild is seen to be.
const (
	atPlan    = "select count(*) > 0 from control.generation where state = 'building'"
	atPart    = "select count(*) >= 3 from control.generation_part join control.generation on id = generation where state = 'building' and read is not null"
	atIndex   = "select count(*) > 0 from pg_indexes join control.generation on schemaname = 'generation_' || id where state = 'building'"
	atFollow  = "select count(*) > 0 from pg_stat_user_tables join control.generation on schemaname = 'generation_' || id where state = 'building' and relname = 'call_log' and last_vacuum is not null"
	atStand   = "select count(*) > 0 from pg_stat_activity where application_name like 'callboard@%' and wait_event_type = 'Lock'"
	noCommits = "lock table projection.position in share update exclusive mode" // it lets projectors commit, and no rebuild stop them
)

// comesTo waits until a rebuild is at a place, or has passed it unseen.
func (s *stage) comesTo(c command, place string) {
	s.tb.Helper()
	awaitWithin(s.tb, commandLimit, "a rebuild at: "+place, func() bool {
		var there bool
		if err := s.pool.QueryRow(s.tb.Context(), place).Scan(&there); err != nil {
			s.tb.Fatal(err)
		}
		return there || c.over()
	})
}

// rebuildKilledAt kills a rebuild at a place, and then has another one go on.
func rebuildKilledAt(place string) func(*stage) {
	return func(s *stage) {
		c := s.building()
		s.comesTo(c, place)
		c.cut()
		s.rebuilt()
	}
}

// killStanding kills a rebuild that waits for the live generation to stand still.
func (s *stage) killStanding() {
	b := s.raise(noCommits)
	defer b.lift()
	c := s.building()
	s.comesTo(c, atStand)
	c.cut()
	b.lift()
	s.rebuilt()
}

// followKilled kills a projector while a rebuild follows it.
func (s *stage) followKilled() {
	c := s.building()
	s.comesTo(c, atFollow)
	s.killProjector()
	s.mustFinish(c)
}

// rebuildStopped stops PostgreSQL in the middle of a rebuild, which may give up then.
func (s *stage) rebuildStopped() {
	c := s.building()
	s.comesTo(c, s.somewhere())
	s.stopPostgres()
	s.mayFinish(c)
}

// rebuildCutOff kills NATS in the middle of a rebuild, which may give up then.
func (s *stage) rebuildCutOff() {
	c := s.building()
	s.comesTo(c, s.somewhere())
	s.killNATS()
	s.mayFinish(c)
}

func (s *stage) somewhere() string {
	places := []string{atPlan, atPart, atIndex, atFollow}
	return places[s.dice.IntN(len(places))]
}

func (s *stage) mustFinish(c command) {
	s.tb.Helper()
	if code := c.finish(); code != 0 {
		s.tb.Errorf("callboard %s: exit %d:\n%s", c.args, code, tail(c.log()))
	}
	s.hang()
	s.verify()
}

func (s *stage) mayFinish(c command) {
	s.tb.Helper()
	s.tb.Logf("exit %d", c.finish())
	s.caughtUp()
	s.rebuilt()
}

// repairSystem makes a phone system's rows anew while its events come.
func (s *stage) repairSystem() {
	name := "global"
	if n := s.dice.IntN(1 + len(s.feed.systems())); n > 0 {
		name = s.feed.systems()[n-1].String()
	}
	var done rebuild.Repaired
	if s.command(&done, "repair", "--system", name); done.Rows == 0 {
		s.tb.Errorf("repair of %s: it has no rows", name)
	}
	s.verify()
}

// freezeLong lets a projector stop until another one, which stands by, puts it out.
func (s *stage) freezeLong() {
	p := s.owner()
	p.signal(syscall.SIGSTOP)
	s.takenOver(p)
	p.signal(syscall.SIGCONT)
}

// strays are the schemas of generations that nobody knows of.
const strays = `
  select nspname::text from pg_namespace where nspname like 'generation\_%'
  except select 'generation_' || id from control.generation where state in ('building', 'previous')`

// leavesNothing tells whether rebuilds have left something behind. The stream's server keeps what a killed one read from for a minute,
// which is waited for or only looked up.
func (s *stage) leavesNothing(wait bool) {
	s.tb.Helper()
	rows, err := s.pool.Query(s.tb.Context(), strays)
	if err != nil {
		s.tb.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.tb.Fatal(err)
	}
	if len(found) > 0 {
		s.tb.Errorf("left behind: %v", found)
	}
	await(s.tb, "the projectors' consumers and no others", func() bool {
		consumers := s.stream().ListConsumers(s.tb.Context())
		others := 0
		for info := range consumers.Info() {
			bounded := info.Config.InactiveThreshold > 0 && info.Config.InactiveThreshold <= time.Minute
			ours := info.Config.Durable != "" || strings.HasPrefix(info.Name, verdict)
			if !ours && (wait || !bounded) {
				others++
			}
		}
		return consumers.Err() == nil && others == 0
	})
	await(s.tb, "no session of callboard's", func() bool {
		return s.number("select count(*) from pg_stat_activity where application_name like 'callboard@%'") == 0
	})
}
