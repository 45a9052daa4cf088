package fault_test

import (
	"crypto/rand"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events/eventstest"
	"callboard/schema/cluster"
	"callboard/schema/schematest"
)

// primary is a PostgreSQL server that accepts writes, with a projector that connects to it alone. Its pool is
// connected to it.
type primary struct {
	*harness
	server    *cluster.Cluster
	projector *process
}

// newPrimary returns a server with a projector that is not started.
func (r *replicas) newPrimary(name, natsURL string, server *cluster.Cluster) *primary {
	r.tb.Helper()
	return &primary{
		harness: &harness{tb: r.tb, js: r.js, pool: schematest.OpenPool(r.tb, server.URL(liveDatabase))},
		server:  server,
		projector: newProcess(r.tb, "projector", name, map[string]string{
			"CALLBOARD_NATS_URL": natsURL, "CALLBOARD_ADMIN_LISTEN": "127.0.0.1:0",
			"CALLBOARD_POSTGRES_URL": server.UserURL(projectorRole, r.password, liveDatabase),
		}),
	}
}

// serverProcesses selects PostgreSQL's processes, the one that starts the others first. The session that asks is
// left out: it ends.
const serverProcesses = `
	select pid
	from (
	  select 0 as rank, split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as pid
	  union all select 1, pid from pg_stat_activity where pid <> pg_backend_pid()
	) as process
	order by rank`

// freeze stops the server and the projector until thaw is called, or until the test ends. Their connections stay,
// and so does the transaction that is open.
func (p *primary) freeze() (thaw func()) {
	p.tb.Helper()
	thawServer := freezePostgres(p.tb, p.pool)
	p.projector.Signal(syscall.SIGSTOP)
	return func() {
		thawServer()
		p.projector.Signal(syscall.SIGCONT)
	}
}

// freezePostgres stops a server with all its sessions until thaw is called, or until the test ends. The pool is the
// superuser's.
func freezePostgres(tb testing.TB, pool *pgxpool.Pool) (thaw func()) {
	tb.Helper()
	rows, _ := pool.Query(tb.Context(), serverProcesses)
	processes, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		tb.Fatal(err)
	}
	send := func(signal syscall.Signal) {
		for _, pid := range processes {
			_ = syscall.Kill(pid, signal) // a session may have ended meanwhile
		}
	}
	tb.Cleanup(func() { send(syscall.SIGCONT) })
	send(syscall.SIGSTOP)
	return func() { send(syscall.SIGCONT) }
}

// position is where a partition stands, with all that must be equal in two databases at equal sequences.
type position struct {
	Partition int16
	Sequence  int64
	Clock     string // and the watermark and the last message
}

func (p *primary) partitionPositions() []position {
	p.tb.Helper()
	rows, _ := p.pool.Query(p.tb.Context(), `
		select partition, sequence, (stream, clock, watermark, last_message, last_message_at)::text
		from projection.position order by partition`)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[position])
	if err != nil {
		p.tb.Fatal(err)
	}
	return list
}

// atSequencesOf tells whether positions have the sequences of others.
func atSequencesOf(list, others []position) bool {
	return slices.EqualFunc(list, others, func(a, b position) bool { return a.Partition == b.Partition && a.Sequence == b.Sequence })
}

// tables returns the rows of the projection, and the decisions that replays of the stream repeat, without the times
// at which they were made.
func (p *primary) tables() schematest.Tables {
	p.tb.Helper()
	tables := schematest.ReadProjection(p.tb, p.server.URL(liveDatabase))
	for name, query := range map[string]string{
		"control.clock_adjustment": "select (to_jsonb(a) - 'recorded_at')::text from control.clock_adjustment a order by 1",
		"control.dead_letter":      "select (to_jsonb(d) - '{id,recorded_at}'::text[])::text from control.dead_letter d order by 1",
	} {
		rows, _ := p.pool.Query(p.tb.Context(), query)
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			p.tb.Fatal(err)
		}
		slices.Sort(list) // by bytes, as the other tables
		tables[name] = list
	}
	return tables
}

// requireEqual waits until both projectors have applied all events of the stream, which stores no more, and stand
// at equal positions. Their clocks and watermarks, the rows and the decisions must be equal then.
func (p *primary) requireEqual(other *primary) schematest.Tables {
	p.tb.Helper()
	p.awaitEvents()
	other.awaitEvents()
	var here, there []position
	eventstest.Eventually(p.tb, "the positions of both primaries are equal", func() bool {
		here, there = p.partitionPositions(), other.partitionPositions()
		return len(here) == partitions && atSequencesOf(here, there)
	})
	if !slices.Equal(here, there) {
		p.tb.Errorf("positions = %v and %v, want the same clocks and watermarks", here, there)
	}
	tables := p.tables()
	if diff := tables.Diff(other.tables()); len(diff) > 0 {
		p.tb.Errorf("the tables of %s and of %s differ:\n%s", p.projector.Name(), other.projector.Name(), strings.Join(diff, "\n"))
	}
	return tables
}

// A primary is frozen together with its projector, and its last commits do not reach the standby, which is
// promoted. The new primary's projector applies these messages again. Then the old pair resumes with its
// connections and its open transactions, and both projectors write to their databases at once. They share the
// stream and its clock messages and disturb each other in nothing: in the end both databases have the same rows,
// times, dead letters and clock adjustments.
func TestReplicas_TwoPrimaries(t *testing.T) {
	eventstest.Long(t)
	t.Parallel()
	broker := eventstest.NewServer(t)
	r := &replicas{harness: &harness{tb: t, js: eventstest.JetStream(t, broker.URL())}, password: rand.Text()}
	r.startDatabases(t)
	r.operator = newProcess(t, "callboard", "callboard", map[string]string{
		"CALLBOARD_NATS_URL": broker.URL(), "CALLBOARD_POSTGRES_URL": r.bothURL(operatorRole, "read-write"),
	})
	r.createStream()
	former := r.newPrimary("former", broker.URL(), r.primary)
	former.projector.Start()
	r.load = r.startLoad(seed(t), bursty)

	former.awaitApplied(backlog)
	r.awaitReplicated()
	resume := r.wal.Pause()
	defer resume()
	former.awaitApplied(100) // which the standby lacks
	before, kept := r.positions(r.primary), r.positions(r.standby)
	if kept >= before {
		t.Fatalf("sum of the standby's positions = %d, want less than the primary's %d", kept, before)
	}
	thaw := former.freeze()

	r.execute(r.standby, "select pg_promote()")
	resume()
	promoted := r.newPrimary("promoted", broker.URL(), r.standby)
	promoted.projector.Start()
	promoted.awaitApplied(100)
	thaw()
	former.awaitApplied(100)
	promoted.awaitApplied(100)

	r.load.stop()
	tables := former.requireEqual(promoted)
	if promoted.projector.Err.Contains(`"message":"partition stopped"`) {
		t.Error("the other projector made partitions of the new primary stop")
	}
	letters := len(tables["control.dead_letter"])
	if letters == 0 {
		t.Error("dead letters = 0, want some")
	}
	t.Logf("sum of the positions: %d on the former primary, %d on the standby; %d messages, %d dead letters",
		before, kept, r.load.published.Load(), letters)
}
