package fault_test

import (
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

// failpointSQL creates the triggers' function. It waits for an advisory lock, which a test holds to block a
// transaction.
const failpointSQL = `
create schema fault;
create function fault.failpoint() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(7, tg_argv[0]::int);
  return null;
end
$$`

// failpointTriggers give every transaction of a projector two failpoints: after it has moved the position and
// before it writes calls, and before it commits.
func failpointTriggers() []string {
	return []string{
		"drop trigger if exists failpoint on projection.call_log",
		"create trigger failpoint before insert on projection.call_log for each statement execute function fault.failpoint(1)",
		"drop trigger if exists failpoint on projection.position",
		"create constraint trigger failpoint after update on projection.position deferrable initially deferred for each row execute function fault.failpoint(2)",
	}
}

// installFailpoints creates the triggers in the live generation. One statement at a time, so that none waits for a
// lock on one table while it holds a lock on the other.
func (h *harness) installFailpoints() {
	h.tb.Helper()
	for _, statement := range failpointTriggers() {
		h.postgres.exec(liveDatabase, statement)
	}
}

// The positions at which a projector's transaction can be blocked, as the statements that block it. All rows of
// position are locked: a partition alone may get no event for long, and what moves idle positions does not wait for
// a lock.
const (
	beforeLoad     = "lock table projection.call_log in access exclusive mode" // it can't read rows
	beforePosition = "select from projection.position for update"              // rows are loaded and folded
	beforeRows     = "select pg_advisory_xact_lock(7, 1)"                      // the position is moved
	beforeCommit   = "select pg_advisory_xact_lock(7, 2)"                      // all rows are written
)

// failpoint blocks transactions of projectors until it is unblocked.
type failpoint struct {
	harness *harness
	conn    *pgx.Conn
}

// block blocks the transactions that arrive at a position.
func (h *harness) block(position string) *failpoint {
	h.tb.Helper()
	f := &failpoint{harness: h, conn: h.postgres.connect(liveDatabase)}
	for _, statement := range []string{"begin", position} {
		schematest.Exec(h.tb, f.conn, statement)
	}
	return f
}

// unblock may be called more than once.
func (f *failpoint) unblock() { closeConn(f.conn) }

// backend is the process ID of the session that blocks.
func (f *failpoint) backend() int64 { return int64(f.conn.PgConn().PID()) }

// awaitProjector waits until a projector is blocked, and returns it.
func (f *failpoint) awaitProjector() (p *process) {
	h := f.harness
	h.tb.Helper()
	eventstest.Eventually(h.tb, "a projector is blocked", func() bool {
		p = h.projectorOf(schematest.QueryOne[string](h.tb, h.pool,
			"select coalesce(max(application_name), '') from pg_stat_activity where usename = $1 and $2 = any (pg_blocking_pids(pid))",
			projectorRole, f.backend()))
		return p != nil
	})
	return p
}

// projectorOf returns the running projector whose sessions have the application name, or nil.
func (h *harness) projectorOf(session string) *process {
	pid := session[strings.LastIndexByte(session, '/')+1:]
	for _, p := range h.projectors {
		if strconv.Itoa(p.PID()) == pid {
			return p
		}
	}
	return nil
}

// sessionsOf returns a LIKE pattern of the application name of a projector's sessions.
func sessionsOf(p *process) string { return "%/" + strconv.Itoa(p.PID()) }

// terminateSessionsOf terminates a projector's sessions, except those that a failpoint blocks.
func (h *harness) terminateSessionsOf(p *process, except *failpoint) {
	h.tb.Helper()
	var backend int64
	if except != nil {
		backend = except.backend()
	}
	h.terminateSessions(`usename = $1 and application_name like $2 and not $3 = any (pg_blocking_pids(pid))`, projectorRole, sessionsOf(p), backend)
}

func (h *harness) terminateSessions(condition string, parameters ...any) {
	h.tb.Helper()
	schematest.Exec(h.tb, h.pool, "select pg_terminate_backend(pid) from pg_stat_activity where "+condition, parameters...)
}

// owned returns the number of partitions that each session owns, by application name.
func (h *harness) owned() map[string]int {
	h.tb.Helper()
	rows, _ := h.pool.Query(h.tb.Context(), "select application_name, count(*) from control.partition_owner group by application_name")
	owned := map[string]int{}
	var n int
	var name string
	if _, err := pgx.ForEachRow(rows, []any{&name, &n}, func() error { owned[name] = n; return nil }); err != nil {
		h.tb.Fatal(err)
	}
	return owned
}

// owner waits until every partition has an owner, and returns the projector that owns most.
func (h *harness) owner() (p *process) {
	h.tb.Helper()
	eventstest.Eventually(h.tb, "every partition has an owner", func() bool {
		most, session, total := 0, "", 0
		for name, n := range h.owned() {
			if total += n; n > most {
				most, session = n, name
			}
		}
		p = h.projectorOf(session)
		return total == partitions && p != nil
	})
	return p
}

// awaitTakeover waits until another projector owns every partition.
func (h *harness) awaitTakeover(from *process) {
	h.tb.Helper()
	eventstest.Eventually(h.tb, "another projector owns every partition", func() bool {
		total := 0
		for session, n := range h.owned() {
			if h.projectorOf(session) != from {
				total += n
			}
		}
		return total == partitions
	})
}

// terminateLockSession terminates the session by which a projector owns its partitions.
func (h *harness) terminateLockSession(p *process) {
	h.tb.Helper()
	h.terminateSessions("pid in (select pid from control.partition_owner where application_name like $1)", sessionsOf(p))
}
