package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

// comparisonJSON is the part of a comparison's JSON that the tests check.
type comparisonJSON struct {
	DryRun  bool
	Rows    int64
	Changes []struct {
		Table, Kind string
		Rows        int64
	}
	Samples         []json.RawMessage
	Unreadable      []json.RawMessage
	MissingColumns  []string
	OtherDefinition bool
}

// changesText has a line for each change.
func (c comparisonJSON) changesText() string {
	var lines []string
	for _, change := range c.Changes {
		lines = append(lines, fmt.Sprintf("%s %s %d", change.Table, change.Kind, change.Rows))
	}
	return strings.Join(lines, "\n")
}

// rebuildJSON is the JSON of a rebuild.
type rebuildJSON struct {
	Generation, Replaced, Messages int64
	PreviousKept, Resumed          bool
	WritePauseSeconds              float64
	Comparison                     comparisonJSON
}

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

func (f rebuildFixture) requireRows(what string, want schematest.Tables) {
	f.Helper()
	schematest.RequireEqual(f, what, f.database.Projection(f), want)
}

const noDifferences = `^No differences: \d+ rows compared\.\n$`

// TestRebuild rebuilds, damages, repairs and rolls back a projection.
func TestRebuild(t *testing.T) {
	f := newRebuildFixture(t, "300")
	f.startProjector()
	f.waitUntilCaughtUp()
	t.Run("while events arrive", func(t *testing.T) { checkRebuildWhileEventsArrive(t, f.in(t)) })
	f.waitUntilCaughtUp()
	t.Run("undamaged", func(t *testing.T) { checkUndamaged(t, f.in(t)) })
	t.Run("damaged", func(t *testing.T) { checkDamaged(t, f.in(t)) })
	t.Run("missing column", func(t *testing.T) { checkMissingColumn(t, f.in(t)) })
	t.Run("message accounting", func(t *testing.T) { checkMessageAccounting(t, f.in(t)) })
	t.Run("rollback", func(t *testing.T) { checkRollback(t, f.in(t)) })
	t.Run("refused", func(t *testing.T) { checkRebuildRefused(t, f.in(t)) })
}

func checkRebuildWhileEventsArrive(t *testing.T, f rebuildFixture) {
	t.Helper()
	publisher := start(f, "callboard", f.operator(), "simulate", "--systems", "2", "--calls", "1000000", "--seed", "9", "--rate", "300")
	var done rebuildJSON
	f.decode(0, &done, "rebuild", "--workers", "8")
	if code := publisher.Stop(os.Interrupt); code != 1 {
		t.Errorf("publisher: exit code = %d, want 1, interrupted after the rebuild", code)
	}
	if len(done.Comparison.Changes)+len(done.Comparison.Unreadable) > 0 || done.Replaced != 1 || done.Generation != 2 || done.Messages == 0 ||
		done.PreviousKept || done.Resumed || done.WritePauseSeconds <= 0 {
		t.Errorf("rebuild = %+v, want generation 2 instead of 1, without changes", done)
	}
}

func checkUndamaged(t *testing.T, f rebuildFixture) {
	t.Helper()
	for _, env := range []map[string]string{f.owner(), f.operator()} {
		expect(t, env, 0, noDifferences, "verify", "--workers", "8")
		expect(t, env, 0, `^Nothing would change: \d+ rows compared\.\n$`, "rebuild", "--dry-run")
	}
	f.expect(0, noDifferences, "verify", "--system", f.firstSystem())
	f.expect(0, noDifferences, "verify", "--system", "global")
	unknown := uuid.NewString()
	for _, name := range []string{"verify", "repair"} {
		f.expect(1, `(^|\n)error: no messages and no rows found of phone system `+unknown+`\n`, name, "--system", unknown)
	}
	f.exec(f.unexpectedCount(unknown))
	f.expect(0, `\nThe stream's messages make no rows of phone system `+unknown+`, so it has none now\.\n$`, "repair", "--system", unknown)
}

// unexpectedCount is a statement that inserts a row that no message makes into the partition of a phone system.
func (f rebuildFixture) unexpectedCount(system string) string {
	f.Helper()
	partitions, err := strconv.Atoi(f.queryText("select partitions::text from projection.generation"))
	if err != nil {
		f.Fatal(err)
	}
	return fmt.Sprintf("insert into projection.row_count values (%d, '%s', 'x', '', '2026-01-01', 1)",
		events.Partition(uuid.MustParse(system), partitions), system)
}

// checkDamaged damages two phone systems: a repair corrects the first, a rebuild the second.
func checkDamaged(t *testing.T, f rebuildFixture) {
	t.Helper()
	first := f.firstSystem()
	second := f.queryText("select id::text from projection.phone_system order by id desc limit 1")
	f.exec(fmt.Sprintf(`
		delete from projection.call_log where id = (select id from projection.call_log where system_id = '%[1]s' order by id limit 1);
		update projection.topology set name = E'Bob\x1b[31m'
		  where id = (select id from projection.topology where system_id = '%[1]s' and kind = 'extension' order by id limit 1);
		%[2]s`, first, f.unexpectedCount(second)))
	damaged := f.database.Projection(t)
	const changes = "call_log missing 1\nrow_count surplus 1\ntopology changed 1"
	var dryRun, found comparisonJSON
	f.decode(0, &dryRun, "rebuild", "--dry-run")
	f.decode(1, &found, "verify")
	if dryRun.changesText() != changes || !dryRun.DryRun || len(dryRun.Samples) != 3 || found.changesText() != changes || dryRun.OtherDefinition {
		t.Errorf("dry run = %+v, verify = %+v, want in both the changes\n%s", dryRun, found, changes)
	}
	f.requireRows("after a dry run", damaged)
	f.expect(0, `(?s)\ntable +rows +kind\ncall_log +1 +missing\nrow_count +1 +surplus\ntopology +1 +changed\n`+
		`Phone systems whose reports show other values: 1\. The new rows give their calls a later updatedAt, so clients that walk by it read them again\.\nNothing was written\. Run 'callboard rebuild' to make these changes\.\n$`, "rebuild", "--dry-run")
	expect(t, f.operator(), 1, `(?s)^call_log, phone system `+first+`, id \S+: missing row\n`+
		`row_count, phone system `+second+`, .*: surplus row\n`+
		`topology, phone system `+first+`, kind extension, id \S+: name is "Bob\\x1b\[31m", expected [^\n]+\n\n`+
		`table .*topology +1 +changed\n`+
		`Run 'callboard repair --system ID' for each of these phone systems, or 'callboard rebuild', to correct this\.\n$`, "verify")
	f.expect(1, `\nRun 'callboard repair --system ID' for each of these phone systems, or 'callboard rebuild', to correct this\.\n$`, "verify", "--system", first)
	f.expect(0, `(?s)^The rows that are replaced, beside the new ones:\ncall_log, phone system `+first+`, .*: missing row\n.*\nRebuilt the \d+ rows of phone system `+first+` from \d+ messages; `+
		`writes paused for \d+ ms\.\nPhone systems whose reports show other values: 1\. .*\n$`, "repair", "--system", first)
	f.expect(0, noDifferences, "verify", "--system", first)
	var other comparisonJSON
	f.decode(1, &other, "verify", "--system", second)
	if got, want := other.changesText(), "row_count surplus 1"; got != want {
		t.Errorf("verify of the second phone system: changes = %s, want %s", got, want)
	}
	f.expect(0, `(?s)^Generation \d+, which is replaced, beside the new one:\nrow_count, .*: surplus row\n.*\nrow_count +1 +surplus\n`+
		`Generation 3 is live: \d+ messages in \d+\.\ds \(.*\), \d+ messages/s.*; writes paused for \d+ ms \(snapshot\) and \d+ ms \(switch\)\.\n`+
		`Generation 2 is kept for 'callboard rollback'\.\n$`, "rebuild", "--keep")
	f.expect(0, noDifferences, "verify")
}

func checkMissingColumn(t *testing.T, f rebuildFixture) {
	t.Helper()
	f.exec("alter table projection.topology rename name to title")
	var found comparisonJSON
	f.decode(1, &found, "verify")
	if !slices.Equal(found.MissingColumns, []string{"topology.name"}) || found.OtherDefinition {
		t.Errorf("verify = %+v, want topology.name missing", found)
	}
	const missing = `has no topology\.name: another release built it, or its tables were altered`
	f.expect(1, `^The projection `+missing+`\.\nRun 'callboard rebuild' to correct this\.\n$`, "verify")
	f.expect(0, `^The projection `+missing+`\.\nNothing was written\.`, "rebuild", "--dry-run")
	f.expect(1, `(^|\n)error: the live projection has no topology\.name: its tables were altered: run 'callboard rebuild'\n$`, "repair", "--system", f.firstSystem())
	f.exec("alter table projection.topology rename title to name")
}

func checkMessageAccounting(t *testing.T, f rebuildFixture) {
	t.Helper()
	f.exec("update projection.message_count set read = read + 5, stale = stale + 5 where entity = 'phone-system'")
	f.expect(1, `(?s)^message_count, partition \d+, entity phone-system: read is \d+, expected \d+\n`+
		`.*\nmessage_count +\d+ +changed\nRun 'callboard rebuild' to correct this\.\n$`, "verify")
	f.exec("update projection.message_count set read = read - 5, stale = stale - 5 where entity = 'phone-system'")
}

func checkRollback(t *testing.T, f rebuildFixture) {
	t.Helper()
	f.expect(0, `^Generation 2 is live again; writes paused for \d+ ms\. Generation 3 is the previous one now: run 'callboard rollback' to switch back to it\.\n$`, "rollback")
	f.expect(1, `^row_count, .*: surplus row\n`, "verify")
	var back struct{ Generation, Replaced int64 }
	f.decode(0, &back, "rollback")
	if back.Generation != 3 || back.Replaced != 2 {
		t.Errorf("rollback = %+v, want generation 3 instead of 2", back)
	}
	f.expect(0, `^No rows changed: \d+ rows compared\.\nGeneration 4 is live: .*\n$`, "rebuild")
	f.expect(1, `(^|\n)error: .*'callboard rebuild --keep'`, "rollback")
}

func checkRebuildRefused(t *testing.T, f rebuildFixture) {
	t.Helper()
	const pattern = `(^|\n)error: this command must run as the schemas' owner: set CALLBOARD_POSTGRES_URL to the user who ran 'callboard migrate'\n.*42501\)\n$`
	expect(t, f.operator(), 1, pattern, "rebuild")
	expect(t, f.operator(), 1, pattern, "repair", "--system", f.firstSystem())
	expectUsageErrors(t, f.owner(), [][]string{
		{"rebuild", "--max-live-lag", "-1s"},
		{"rebuild", "--dry-run", "--keep"}, {"rebuild", "--abandon", "--keep"}, {"verify", "--system", "x"}, {"verify", "--workers", "-1"},
		{"verify", "--system", ""}, {"repair"}, {"repair", "--system", "all"}, {"repair", "--system", ""},
	}...)
}

// moveWatermarks makes a rebuild wait on for a frozen projector: after half a minute, a watermark that does not
// move would not count.
func (f rebuildFixture) moveWatermarks() {
	f.Helper()
	f.exec("update projection.position set watermark = watermark - interval '1 microsecond' where watermark > to_timestamp(0)")
}

// startThrottledRebuild starts a rebuild while the projector is frozen, and returns when the rebuild waits for it.
// Watermarks of idle partitions are up to 2 s old, so the lag must be above that.
func (f rebuildFixture) startThrottledRebuild() *daemon {
	f.Helper()
	const lagging = "select exists (select 1 from projection.position where watermark > to_timestamp(0) and watermark < now() - interval '3 s')::text"
	eventstest.Eventually(f, "a watermark older than 3 s", func() bool { return f.queryText(lagging) == "true" })
	rebuild := start(f, "callboard", f.owner(), "rebuild", "--max-live-lag", "10ms", "--json")
	f.moveWatermarks()
	line := regexp.MustCompile(`(?m)^loading: 0 of \d+ messages \(0%\), 0/s; waiting for the live projection: partition \d+ lags by \d+\.\ds$`)
	eventstest.Eventually(f, "the rebuild waits for the live projection", func() bool { return line.MatchString(rebuild.Err.String()) })
	return rebuild
}

// A rebuild waits for a projector that lags, and the next run resumes an interrupted one.
func TestRebuild_ThrottledAndResumed(t *testing.T) {
	f := newRebuildFixture(t, "20")
	projector := f.startProjector()
	f.waitUntilCaughtUp()
	projector.Signal(syscall.SIGSTOP)
	f.simulate("--systems", "1", "--calls", "20", "--seed", "5")
	interrupted := f.startThrottledRebuild()
	f.moveWatermarks()
	f.expect(1, `(^|\n)error: .*\nWait until it has finished\.`, "verify")
	f.moveWatermarks()
	expect(t, f.operator(), 0, `\n2 +building `, "status")
	const end = "\nerror: interrupted\nReaders still serve the earlier rows. An interrupted rebuild goes on with the next one\n"
	if code := interrupted.Stop(os.Interrupt); code != 1 || !strings.HasSuffix(interrupted.Err.String(), end) {
		t.Errorf("interrupted: exit code = %d, errors = %s, want 1 and %q", code, interrupted.Err, end)
	}
	resumed := f.startThrottledRebuild()
	projector.Signal(syscall.SIGCONT)
	resumed.Wait(3 * time.Minute)
	var done rebuildJSON
	err := json.Unmarshal([]byte(resumed.Out.String()), &done)
	if err != nil || !done.Resumed || done.Generation != 2 || len(done.Comparison.Changes) > 0 {
		t.Errorf("rebuild = %+v, error = %v, want generation 2, resumed, without changes: %s", done, err, resumed.Err)
	}
	f.waitUntilCaughtUp()
	f.expect(0, noDifferences, "verify")
}

// --abandon drops an unfinished generation, and rollback --forget the previous one.
func TestRebuild_DropGenerations(t *testing.T) {
	f := newRebuildFixture(t, "5")
	projector := f.startProjector()
	f.waitUntilCaughtUp()
	f.expect(0, `^No rebuild is unfinished\.\n$`, "rebuild", "--abandon")
	projector.Signal(syscall.SIGSTOP)
	f.simulate("--systems", "1", "--calls", "5", "--seed", "5")
	rebuild := f.startThrottledRebuild()
	f.moveWatermarks()
	f.expect(1, `(^|\n)error: .*\nWait until it has finished\.`, "rebuild", "--abandon")
	f.moveWatermarks()
	if code := rebuild.Stop(os.Interrupt); code != 1 {
		t.Errorf("interrupted: exit code = %d, want 1", code)
	}
	var dropped struct{ Dropped []int64 }
	if f.decode(0, &dropped, "rebuild", "--abandon"); !slices.Equal(dropped.Dropped, []int64{2}) {
		t.Errorf("dropped = %v, want generation 2", dropped.Dropped)
	}
	projector.Signal(syscall.SIGCONT)
	f.waitUntilCaughtUp()
	f.expect(0, `^There is no previous generation\.\n$`, "rollback", "--forget")
	f.expect(0, `\nGeneration 1 is kept for 'callboard rollback'\.\n$`, "rebuild", "--keep")
	f.expect(0, `^Dropped generations: 1\.\n$`, "rollback", "--forget")
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

// A projection of another release is rebuilt. Until then verify lists no rows.
func TestRebuild_AnotherRelease(t *testing.T) {
	f := newRebuildFixture(t, "20")
	projector := f.startProjector()
	f.waitUntilCaughtUp()
	projector.StopCleanly(os.Interrupt)
	f.exec("update control.generation set definition = 'other'")
	f.expect(0, `^The database has this release's schema and roles\.\nAnother release built the projection: run 'callboard rebuild'\.\n$`, "migrate")
	f.expect(0, `"rebuild":true`, "migrate", "--json")
	f.expect(1, `(^|\n)error: another release built the projection, .*\nRun 'callboard rebuild --dry-run' to see what a rebuild would change`, "verify")
	f.expect(0, `^Nothing would change: `, "rebuild", "--dry-run")
	f.expect(0, `Generation 2 is live: `, "rebuild", "--keep")
	f.expect(1, `definition mismatch: another release built the generation: run`, "rollback")
	f.expect(0, `"rebuild":false`, "migrate", "--json")
	f.expect(0, noDifferences, "verify")
}
