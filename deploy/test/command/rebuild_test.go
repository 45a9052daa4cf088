package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/rebuild"
)

// rebuildFixture is a fleet with the events of three simulated phone systems.
type rebuildFixture struct{ *fleet }

func newRebuildFixture(t *testing.T, calls string) rebuildFixture {
	t.Helper()
	f := rebuildFixture{newFleet(t)}
	f.simulate("--systems", "3", "--calls", calls)
	return f
}

func (f rebuildFixture) in(t *testing.T) rebuildFixture {
	t.Helper()
	return rebuildFixture{f.fleet.in(t)}
}

func (f rebuildFixture) simulate(args ...string) {
	f.Helper()
	succeed(f, f.operator(), "", append([]string{"simulate"}, args...)...)
}

// expect runs a command as the schemas' owner.
func (f rebuildFixture) expect(code int, pattern string, args ...string) {
	f.Helper()
	expect(f, f.owner(), code, pattern, args...)
}

// decode runs a command as the schemas' owner and decodes its JSON.
func (f rebuildFixture) decode(code int, v any, args ...string) {
	f.Helper()
	r := command(f, f.owner(), "", append(args, "--json")...)
	if err := json.Unmarshal([]byte(r.out), v); err != nil || r.code != code {
		f.Fatalf("%v: exit code = %d, error = %v, want %d and JSON: %s%s", args, r.code, err, code, r.out, r.err)
	}
}

func (f rebuildFixture) firstSystem() string {
	f.Helper()
	return f.queryText("select id::text from projection.phone_system order by id limit 1")
}

const noDifferences = `^No differences: \d+ rows compared\.\n$`

// TestRebuild rebuilds, damages, repairs and rolls back a projection.
func TestRebuild(t *testing.T) {
	f := newRebuildFixture(t, "300")
	f.startProjector()
	f.waitUntilCaughtUp()
	publisher := start(t, "callboard", f.operator(), "simulate", "--systems", "2", "--calls", "1000000", "--seed", "9", "--rate", "300")
	var done rebuild.Result
	f.decode(0, &done, "rebuild", "--workers", "8")
	if code := publisher.Stop(os.Interrupt); code != 1 {
		t.Errorf("publisher: exit code = %d, want 1, interrupted after the rebuild", code)
	}
	if done.Comparison.Differs() || done.Generation != 2 || done.Messages == 0 || done.PreviousKept || done.Resumed {
		t.Errorf("rebuild = %+v, want generation 2, without changes", done)
	}
	f.waitUntilCaughtUp()
	expect(t, f.operator(), 0, noDifferences, "verify", "--workers", "8")
	expect(t, f.operator(), 0, `^Nothing would change: \d+ rows compared\.\n$`, "rebuild", "--dry-run")
	f.expect(0, noDifferences, "verify", "--system", "global")
	f.expect(1, `(^|\n)error: no messages and no rows found of phone system `, "repair", "--system", uuid.NewString())

	t.Run("damaged", func(t *testing.T) { checkDamaged(t, f.in(t)) })
	f.expect(0, `^Generation 2 is live again; writes paused for \d+ ms\. Generation 3 is the previous one now`, "rollback")
	f.expect(1, `^row_count, .*: surplus row\n`, "verify")
	for _, args := range [][]string{{"rebuild"}, {"repair", "--system", f.firstSystem()}} {
		expect(t, f.operator(), 1, `(^|\n)error: this command must run as the schemas' owner: set CALLBOARD_POSTGRES_URL`, args...)
	}
}

// checkDamaged damages two phone systems: a repair corrects the first, a rebuild the second.
func checkDamaged(t *testing.T, f rebuildFixture) {
	t.Helper()
	first := f.firstSystem()
	second := f.queryText("select id::text from projection.phone_system order by id desc limit 1")
	partitions, err := strconv.Atoi(f.queryText("select partitions::text from projection.generation"))
	if err != nil {
		t.Fatal(err)
	}
	f.exec(fmt.Sprintf(`
		delete from projection.call_log where id = (select id from projection.call_log where system_id = '%[1]s' order by id limit 1);
		update projection.topology set name = E'Bob\x1b[31m'
		  where id = (select id from projection.topology where system_id = '%[1]s' and kind = 'extension' order by id limit 1);
		insert into projection.row_count values (%[2]d, '%[3]s', 'x', '', '2026-01-01', 1)`,
		first, events.Partition(uuid.MustParse(second), partitions), second))
	want := []rebuild.Change{
		{Table: "call_log", Kind: rebuild.KindMissing, Rows: 1}, {Table: "row_count", Kind: rebuild.KindSurplus, Rows: 1},
		{Table: "topology", Kind: rebuild.KindChanged, Rows: 1},
	}
	for code, args := range [][]string{{"rebuild", "--dry-run"}, {"verify"}} {
		var found rebuild.Comparison
		if f.decode(code, &found, args...); !slices.Equal(found.Changes, want) {
			t.Errorf("%v: changes = %+v, want %+v", args, found.Changes, want)
		}
	}
	expect(t, f.operator(), 1, `(?s)^call_log, phone system `+first+`, id \S+: missing row\nrow_count, phone system `+second+`, .*: surplus row\n`+
		`topology, phone system `+first+`, kind extension, id \S+: name is "Bob\\x1b\[31m", expected [^\n]+\n\n`, "verify")

	f.expect(0, `(?s)^The rows that are replaced, beside the new ones:\n.*\nRebuilt the \d+ rows of phone system `+first, "repair", "--system", first)
	f.expect(1, `^row_count, phone system `+second+`, .*: surplus row\n`, "verify")
	f.expect(0, `(?s)\nGeneration 3 is live.*Generation 2 is kept for 'callboard rollback'\.\n$`, "rebuild", "--keep")
	f.expect(0, noDifferences, "verify")

	f.exec("alter table projection.topology rename name to title")
	f.expect(1, `^The projection has no topology\.name: another release built it, or its tables were altered\.\n`, "verify")
	f.exec("alter table projection.topology rename title to name")
}

// A switch or a repair that is interrupted during its commit can take effect, as one does that waits for a
// synchronous standby. The command does not say that nothing has changed.
func TestRebuild_InterruptedDuringCommit(t *testing.T) {
	f := newRebuildFixture(t, "5")
	projector := f.startProjector()
	f.waitUntilCaughtUp()
	projector.StopCleanly(os.Interrupt)
	f.expect(0, `\nGeneration 1 is kept for 'callboard rollback'\.\n$`, "rebuild", "--keep")
	f.exec(`create function public.hang() returns trigger language plpgsql as
		$$ begin perform pg_sleep(600); return null; exception when query_canceled then return null; end $$`)
	interrupt := func(event, when, want string, args ...string) {
		t.Helper()
		f.exec("create constraint trigger hang after " + event + " deferrable initially deferred for each row " + when + " execute function public.hang()")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan result, 1)
		go func() { ended <- run(ctx, t, "callboard", f.owner(), "", args...) }()
		const commits = "select exists (select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep')::text"
		eventstest.Eventually(t, "the command commits", func() bool { return f.queryText(commits) == "true" })
		cancel()
		if r := <-ended; r.code != 1 || r.out != "" || !strings.HasSuffix(r.err, want) || !strings.Contains(r.err, "error: the commit was not confirmed") {
			t.Errorf("%v: exit code = %d, output = %s%s, want 1, an unconfirmed commit and %q", args, r.code, r.out, r.err, want)
		}
		eventstest.Eventually(t, "the transaction ends", func() bool { return f.queryText(commits) == "false" })
	}
	first := f.firstSystem()
	const unconfirmed = "\nRun 'callboard status' to see which generation is live, before you run the command again. A repair can be repeated\n"
	interrupt("insert or update on projection.phone_system", "", unconfirmed, "repair", "--system", first)
	interrupt("update on control.generation", "when (new.state = 'live')", unconfirmed, "rollback")
	// PostgreSQL signals a process and its group. If the second signal arrives after the trigger has caught the first,
	// nothing is committed.
	f.expect(0, `\n[12] +live `, "status")
}
