package fault_test

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// gateSQL is what lets transactions pass a gate, which is an advisory lock.
const gateSQL = `
create schema fault;
create function fault.pass() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(7, tg_argv[0]::int);
  return null;
end
$$`

// gates lets every transaction of a projector pass two gates: one when it has moved its position and is about to write calls, one when
// it is about to commit.
func gates() []string {
	return []string{
		"drop trigger if exists gate on projection.call_log",
		"create trigger gate before insert on projection.call_log for each statement execute function fault.pass(1)",
		"drop trigger if exists gate on projection.position",
		"create constraint trigger gate after update on projection.position deferrable initially deferred for each row execute function fault.pass(2)",
	}
}

// hang hangs the gates into the generation that is live, one at a time, so that nobody waits for both tables.
func (s *stage) hang() {
	s.tb.Helper()
	for _, gate := range gates() {
		s.postgres.exec(live, gate)
	}
}

// The places where a projector can be held, as statements that hold it there.
const (
	atLoading    = "lock table projection.call_log in access exclusive mode"                                      // it can't read its rows
	atAdvancing  = "select from projection.position where sequence > 0 order by sequence desc limit 1 for update" // rows are loaded and folded
	atWriting    = "select pg_advisory_xact_lock(7, 1)"                                                           // its position has moved
	atCommitting = "select pg_advisory_xact_lock(7, 2)"                                                           // all is written
)

// barrier holds projectors in the middle of their transactions.
type barrier struct {
	stage *stage
	conn  *pgx.Conn
}

// raise holds whoever comes to the place, until the barrier is lifted.
func (s *stage) raise(place string) *barrier {
	s.tb.Helper()
	b := &barrier{stage: s, conn: s.postgres.connect(live)}
	if _, err := b.conn.Exec(s.tb.Context(), "begin"); err != nil {
		s.tb.Fatal(err)
	}
	if _, err := b.conn.Exec(s.tb.Context(), place); err != nil {
		s.tb.Fatalf("%s: %v", place, err)
	}
	return b
}

func (b *barrier) lift() { hangUp(b.conn) }

// captive waits for a projector to be held, and returns it.
func (b *barrier) captive() (p *program) {
	s := b.stage
	s.tb.Helper()
	await(s.tb, "a projector at the barrier", func() bool {
		var name string
		err := s.pool.QueryRow(s.tb.Context(),
			"select coalesce(max(application_name), '') from pg_stat_activity where usename = $1 and $2 = any (pg_blocking_pids(pid))",
			projectorRole, int64(b.conn.PgConn().PID())).Scan(&name)
		if err != nil {
			s.tb.Fatal(err)
		}
		p = s.projectorOf(name)
		return p != nil
	})
	return p
}

// projectorOf is the running projector whose sessions have the name; nil where it is none's.
func (s *stage) projectorOf(session string) *program {
	pid := session[strings.LastIndexByte(session, '/')+1:]
	for _, p := range s.projectors {
		if strconv.Itoa(p.pid()) == pid {
			return p
		}
	}
	return nil
}

// sessionsOf is how a projector's sessions are told from others.
func sessionsOf(p *program) string { return "%/" + strconv.Itoa(p.pid()) }

// endSessions ends a projector's sessions as a server does that has not heard from it for long, save those held at a barrier.
func (s *stage) endSessions(p *program, held *barrier) {
	s.tb.Helper()
	var barrier int64
	if held != nil {
		barrier = int64(held.conn.PgConn().PID())
	}
	s.end(`usename = $1 and application_name like $2 and not $3 = any (pg_blocking_pids(pid))`, projectorRole, sessionsOf(p), barrier)
}

// end ends the sessions that meet a condition.
func (s *stage) end(condition string, parameters ...any) {
	s.tb.Helper()
	_, err := s.pool.Exec(context.Background(), "select pg_terminate_backend(pid) from pg_stat_activity where "+condition, parameters...)
	if err != nil {
		s.tb.Fatal(err)
	}
}
