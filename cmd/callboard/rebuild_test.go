package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/schema/schematest"
)

// difference is what a comparison says in JSON, as far as the tests ask.
type difference struct {
	DryRun  bool
	Rows    int64
	Changes []struct {
		Table, Kind, Column string
		Rows                int64
	}
	Samples []struct {
		Table, PhoneSystemID, Kind string
		Values                     []struct{ Column, Served, Expected string }
	}
	Unreadable      []json.RawMessage
	MissingColumns  []string
	OtherDefinition bool
}

// counts are the changes, a line each.
func (d difference) counts() string {
	var lines []string
	for _, c := range d.Changes {
		lines = append(lines, fmt.Sprintf("%s %s %s %d", c.Table, c.Kind, c.Column, c.Rows))
	}
	return strings.Join(lines, "\n")
}

// building is what a rebuild says in JSON.
type building struct {
	Generation, Replaced, Messages, Rows int64
	Parts, PartsResumed                  int64
	Dropped                              []int64
	PreviousKept, Resumed                bool
	WritePauseSeconds                    float64
	Comparison                           difference
}

// rebuildFleet is a fleet with sample events in its stream.
type rebuildFleet struct{ *fleet }

func newRebuildFleet(t *testing.T, calls string) rebuildFleet {
	t.Helper()
	f := rebuildFleet{newFleet(t)}
	succeed(f, f.env("callboard_operator"), "", "simulate", "--systems", "3", "--calls", calls)
	return f
}

// owner is the environment of the user who migrated.
func (f rebuildFleet) owner() map[string]string {
	env := f.env("")
	env["CALLBOARD_POSTGRES_URL"] = f.database.URL()
	return env
}

// in is the fleet in a test within its own.
func (f rebuildFleet) in(t *testing.T) rebuildFleet {
	t.Helper()
	own := *f.fleet
	own.T = t
	return rebuildFleet{&own}
}

func (f rebuildFleet) caughtUp() {
	f.Helper()
	eventually(f, func() error {
		if out := succeed(f, f.env("callboard_operator"), "", "status"); !strings.Contains(out, " 0 not applied") {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
}

func (f rebuildFleet) says(env map[string]string, code int, want string, args ...string) {
	f.Helper()
	r := command(f, env, "", args...)
	said := r.out
	if said == "" {
		said = r.err
	}
	if r.code != code || !regexp.MustCompile(want).MatchString(said) {
		f.Errorf("%v: exit %d, want %d with %s:\n%s%s", args, r.code, code, want, r.out, r.err)
	}
	if testing.Verbose() {
		f.Logf("$ callboard %s\n%s%s", strings.Join(args, " "), r.out, r.err)
	}
}

func (f rebuildFleet) decode(code int, v any, args ...string) {
	f.Helper()
	r := command(f, f.owner(), "", append(args, "--json")...)
	if err := json.Unmarshal([]byte(r.out), v); err != nil || r.code != code {
		f.Fatalf("%v: exit %d, %v: %s%s", args, r.code, err, r.out, r.err)
	}
}

// one is the single text that a query gives.
func (f rebuildFleet) one(query string) (text string) {
	f.Helper()
	if err := f.pool.QueryRow(f.Context(), query).Scan(&text); err != nil {
		f.Fatal(err)
	}
	return text
}

func (f rebuildFleet) equal(what string, before schematest.Tables) {
	f.Helper()
	if list := f.database.Projection(f).Diff(before); len(list) > 0 {
		f.Errorf("%s: now (here) and before (there) differ:\n%s", what, strings.Join(list, "\n"))
	}
}

// TestRebuild follows an operator through a projection's damages and generations.
func TestRebuild(t *testing.T) {
	f := newRebuildFleet(t, "300")
	f.projector()
	f.caughtUp()
	t.Run("live", func(t *testing.T) { checkRebuiltLive(f.in(t)) })
	f.caughtUp()
	sound := f.database.Projection(t)
	t.Run("sound", func(t *testing.T) { checkSound(f.in(t)) })
	t.Run("damaged", func(t *testing.T) { checkDamage(f.in(t)) })
	f.equal("after the rebuild", sound)
	t.Run("lacking", func(t *testing.T) { checkLacking(f.in(t)) })
	t.Run("rollback", func(t *testing.T) { checkRollback(f.in(t)) })
	t.Run("refused", func(t *testing.T) { checkRebuildRefused(f.in(t)) })
}

// checkRebuiltLive rebuilds while events arrive.
func checkRebuiltLive(f rebuildFleet) {
	f.Helper()
	publishing := start(f, "callboard", f.env("callboard_operator"), "simulate", "--systems", "2", "--calls", "20000", "--seed", "9", "--rate", "1500")
	var done building
	f.decode(0, &done, "rebuild", "--workers", "8")
	if code := publishing.stop(os.Interrupt); code != 1 {
		f.Errorf("the publisher ended before the rebuild: exit %d", code)
	}
	if len(done.Comparison.Changes)+len(done.Comparison.Unreadable) > 0 || done.Replaced != 1 || done.Generation != 2 || done.Messages == 0 ||
		done.Rows == 0 || done.PreviousKept || done.Resumed || done.WritePauseSeconds <= 0 || done.Parts == 0 || done.PartsResumed != 0 ||
		!slices.Equal(done.Dropped, []int64{1}) {
		f.Errorf("%+v", done)
	}
}

func checkSound(f rebuildFleet) {
	f.Helper()
	system := f.one("select id::text from projection.phone_system order by id limit 1")
	for _, role := range []map[string]string{f.owner(), f.env("callboard_operator")} {
		f.says(role, 0, `^\d+ rows of \d+ tables are as they should be\.\n$`, "verify", "--workers", "8")
		f.says(role, 0, `^Nothing would change: \d+ rows of \d+ tables are as they should be\.\n$`, "rebuild", "--dry-run")
	}
	f.says(f.owner(), 0, `^\d+ rows of \d+ tables are as they should be\.\n$`, "verify", "--system", system, "--system", "global")
	unknown := uuid.NewString()
	f.says(f.owner(), 1, `(^|\n)error: neither the stream nor the projection knows phone system `+unknown+`\n$`, "verify", "--system", unknown)
	f.says(f.owner(), 1, `(^|\n)error: neither the stream nor the projection knows phone system `+unknown+`\n$`, "repair", "--system", unknown)
	if _, err := f.pool.Exec(f.Context(), "insert into projection.day_count values ($1, 'x', '', '2026-01-01', 1)", unknown); err != nil {
		f.Fatal(err)
	}
	f.says(f.owner(), 0, `^No message of the stream makes a row of phone system `+unknown+`: it has none now\.\n$`, "repair", "--system", unknown)
}

// checkDamage takes rows away, changes and adds some in two phone systems; one is repaired, the other comes right with a rebuild.
func checkDamage(f rebuildFleet) {
	f.Helper()
	first := f.one("select id::text from projection.phone_system order by id limit 1")
	second := f.one("select id::text from projection.phone_system order by id desc limit 1")
	_, err := f.pool.Exec(f.Context(), fmt.Sprintf(`
		delete from projection.call_log where id = (select id from projection.call_log where system_id = '%[1]s' order by id limit 1);
		update projection.extension set name = E'Bob\x1b[31m' where id = (select id from projection.extension where system_id = '%[1]s' order by id limit 1);
		insert into projection.day_count values ('%[2]s', 'x', '', '2026-01-01', 1)`, first, second))
	if err != nil {
		f.Fatal(err)
	}
	damaged := f.database.Projection(f)
	const counts = "call_log missing  1\nday_count surplus  1\nextension changed name 1"
	var would, differs difference
	f.decode(0, &would, "rebuild", "--dry-run")
	f.decode(1, &differs, "verify")
	if would.counts() != counts || !would.DryRun || len(would.Samples) != 3 || differs.counts() != counts || would.OtherDefinition {
		f.Errorf("%+v\n%+v", would, differs)
	}
	f.equal("after a dry run", damaged)
	f.says(f.owner(), 0, `(?s)\nTABLE +COLUMN +ROWS +DIFFERENCE\ncall_log +- +1 +would be added\nday_count +- +1 +would be removed\nextension +name +1 +would change\nNothing was written; `, "rebuild", "--dry-run")
	f.says(f.env("callboard_operator"), 1, `(?s)^call_log, phone system `+first+`, id \S+: not served, should be\n`+
		`day_count, phone system `+second+`, .*: served, should not be\n`+
		`extension, phone system `+first+`, id \S+: name: served "Bob\\x1b\[31m", should be "[^\n]+"\n\n`+
		`TABLE .*extension +name +1 +served with another value\n`+
		`'callboard repair --system ID' for each of the phone systems, or 'callboard rebuild', makes it right\.\n$`, "verify")
	f.says(f.owner(), 1, `\n'callboard repair --system `+first+`' or 'callboard rebuild' makes it right\.\n$`, "verify", "--system", first)
	f.says(f.owner(), 0, `^The \d+ rows of phone system `+first+` are made anew from its \d+ messages; commits stood still for \d+ ms\.\n'callboard verify --system `+first+`' `, "repair", "--system", first)
	f.says(f.owner(), 0, ` are as they should be\.\n$`, "verify", "--system", first)
	f.decode(1, &differs, "verify", "--system", second)
	if differs.counts() != "day_count surplus  1" {
		f.Errorf("%+v", differs)
	}
	f.says(f.owner(), 0, `(?s)^day_count, .*: removed\n.*\nday_count +- +1 +removed\nGeneration 3 is live: \d+ messages, \d+ rows in \d+\.\ds \(.*\), \d+ messages/s.*; commits stood still for \d+ ms and for \d+ ms\.\nGeneration 2 is kept: 'callboard rollback' switches back\.\n$`, "rebuild", "--keep")
	f.says(f.owner(), 0, ` are as they should be\.\n$`, "verify")
}

// checkLacking takes a column and the ledger's truth away, and puts both back.
func checkLacking(f rebuildFleet) {
	f.Helper()
	exec := func(statement string) {
		f.Helper()
		if _, err := f.pool.Exec(f.Context(), statement); err != nil {
			f.Fatal(err)
		}
	}
	system := f.one("select id::text from projection.phone_system order by id limit 1")
	exec("alter table projection.phone rename name to title")
	var differs difference
	f.decode(1, &differs, "verify")
	if !slices.Equal(differs.MissingColumns, []string{"phone.name"}) || differs.OtherDefinition {
		f.Errorf("%+v", differs)
	}
	const lacks = "lacks phone\\.name: another release built it, or somebody changed it"
	f.says(f.owner(), 1, `^The live projection `+lacks+`\.\n'callboard rebuild' makes it right\.\n$`, "verify")
	f.says(f.owner(), 0, `^The live projection `+lacks+`\.\nNothing was written; 'callboard rebuild' changes this\.\n$`, "rebuild", "--dry-run")
	f.says(f.owner(), 1, `(^|\n)error: the live projection `+lacks+`\n'callboard rebuild' makes it anew\n$`, "repair", "--system", system)
	exec("alter table projection.phone rename title to name; update projection.message_count set read = read + 5, stale = stale + 5 where entity = 'phone-system'")
	f.says(f.owner(), 1, `^ledger, partition \d+, entity phone-system: served \d+ read \(\d+ applied, \d+ stale, 0 ignored, 0 dead\), should be \d+ read \(.*\)\n`, "verify")
	f.says(f.owner(), 1, `\nledger +counts +\d+ +served with another value\n'callboard rebuild' makes it right\.\n$`, "verify")
	exec("update projection.message_count set read = read - 5, stale = stale - 5 where entity = 'phone-system'")
}

func checkRollback(f rebuildFleet) {
	f.Helper()
	f.says(f.owner(), 0, `^Generation 2 is live again; commits stood still for \d+ ms\. Generation 3 is kept: 'callboard rollback' switches back to it\.\n$`, "rollback")
	f.says(f.owner(), 1, `^day_count, .*: served, should not be\n`, "verify")
	var back struct{ Generation, Replaced int64 }
	f.decode(0, &back, "rollback")
	if back.Generation != 3 || back.Replaced != 2 {
		f.Errorf("%+v", back)
	}
	f.says(f.owner(), 0, `^Nothing changed: \d+ rows are as they were\.\nGeneration 4 is live: .*\nGenerations 3 and 2 were dropped\.\n$`, "rebuild")
	f.says(f.owner(), 1, `(^|\n)error: no previous generation: 'callboard rebuild --keep' keeps `, "rollback")
}

func checkRebuildRefused(f rebuildFleet) {
	f.Helper()
	system := f.one("select id::text from projection.phone_system order by id limit 1")
	const owner = `(^|\n)error: rebuild, rollback and repair run as the user who ran 'callboard migrate'\n.*42501\)\n$`
	f.says(f.env("callboard_operator"), 1, owner, "rebuild")
	f.says(f.env("callboard_operator"), 1, owner, "repair", "--system", system)
	for _, args := range [][]string{
		{"rebuild", "--batch", "0"}, {"rebuild", "--memory", "2"}, {"rebuild", "--memory", "-1GiB"}, {"rebuild", "--max-live-lag", "-1s"},
		{"rebuild", "--dry-run", "--keep"}, {"rebuild", "--abandon", "--keep"}, {"verify", "--system", "x"}, {"verify", "--workers", "-1"}, {"verify", "--system", ""}, {"repair"}, {"repair", "--system", "all"},
		{"repair", "--system", ""},
	} {
		if r := command(f, f.owner(), "", args...); r.code != 2 || r.out != "" {
			f.Errorf("%v: exit %d: %s%s", args, r.code, r.out, r.err)
		}
	}
}

// waiting is a rebuild that waits for the live projection, whose projector is frozen. Watermarks of idle partitions are up to 2 s old.
func (f rebuildFleet) waiting() *daemon {
	f.Helper()
	const lagging = "select exists (select from projection.position where watermark > to_timestamp(0) and watermark < now() - interval '3 s')::text"
	eventually(f, func() error {
		if got := f.one(lagging); got != "true" {
			return fmt.Errorf("a watermark older than 3 s: %s", got)
		}
		return nil
	})
	waiting := start(f, "callboard", f.owner(), "rebuild", "--max-live-lag", "10ms", "--json")
	eventually(f, func() error {
		const want = `(?m)^folding: 0 of \d+ messages \(0%\), 0/s; waiting for the live projection: partition \d+ lags by \d+\.\ds$`
		if said := waiting.err.String(); !regexp.MustCompile(want).MatchString(said) {
			return fmt.Errorf("it says %q", said)
		}
		return nil
	})
	return waiting
}

// A rebuild waits for a projector that can't keep up, and what one run has begun the next one goes on with.
func TestRebuild_WaitsAndGoesOn(t *testing.T) {
	f := newRebuildFleet(t, "20")
	daemon := f.projector()
	f.caughtUp()
	if err := daemon.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	succeed(t, f.env("callboard_operator"), "", "simulate", "--systems", "1", "--calls", "20", "--seed", "5")
	interrupted := f.waiting()
	f.says(f.owner(), 1, `(^|\n)error: another operation is in progress: .*\nWait for its end; `, "verify")
	f.says(f.env("callboard_operator"), 0, `\ngeneration 2: building since `, "status")
	if code := interrupted.stop(os.Interrupt); code != 1 || !strings.HasSuffix(interrupted.err.String(),
		"\nerror: interrupted\nThe live generation is as it was. Run it again: it goes on where it was\n") {
		t.Errorf("exit %d: %s", code, interrupted.err)
	}
	again := f.waiting()
	if err := daemon.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-again.ended:
	case <-time.After(patience):
		t.Fatal("it goes on waiting")
	}
	var done building
	if err := json.Unmarshal([]byte(again.out.String()), &done); err != nil || !done.Resumed || done.Parts == 0 || done.PartsResumed >= done.Parts || done.Generation != 2 || len(done.Comparison.Changes) > 0 {
		t.Errorf("%+v, %v: %s", done, err, again.err)
	}
	f.caughtUp()
	f.says(f.owner(), 0, ` are as they should be\.\n$`, "verify")
}

// What a rebuild without an end has built can be given up.
func TestRebuild_Abandon(t *testing.T) {
	f := newRebuildFleet(t, "5")
	daemon := f.projector()
	f.caughtUp()
	f.says(f.owner(), 0, `^No rebuild was left without an end\.\n$`, "rebuild", "--abandon")
	if err := daemon.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	succeed(t, f.env("callboard_operator"), "", "simulate", "--systems", "1", "--calls", "5", "--seed", "5")
	waiting := f.waiting()
	f.says(f.owner(), 1, `(^|\n)error: another operation is in progress`, "rebuild", "--abandon")
	if code := waiting.stop(os.Interrupt); code != 1 {
		t.Errorf("exit %d: %s", code, waiting.err)
	}
	var left struct{ Dropped []int64 }
	if f.decode(0, &left, "rebuild", "--abandon"); !slices.Equal(left.Dropped, []int64{2}) {
		t.Errorf("%+v", left)
	}
	if err := daemon.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	f.caughtUp()
	f.says(f.owner(), 0, `^No generation is kept\.\n$`, "rollback", "--forget")
	f.says(f.owner(), 0, `\nGeneration 1 is kept: `, "rebuild", "--keep")
	f.says(f.owner(), 0, `^Generation 1 was dropped\.\n$`, "rollback", "--forget")
}

// What another release built is rebuilt, and until then nothing is said of single rows.
func TestRebuild_AnotherRelease(t *testing.T) {
	f := newRebuildFleet(t, "20")
	daemon := f.projector()
	f.caughtUp()
	if code := daemon.stop(os.Interrupt); code != 0 {
		t.Errorf("exit %d", code)
	}
	if _, err := f.pool.Exec(t.Context(), "update control.generation set definition = 'other'"); err != nil {
		t.Fatal(err)
	}
	const advice = "The projection was built by another release: run 'callboard rebuild'."
	f.says(f.owner(), 0, `^The database has this release's schema and roles\.\n`+advice+`\n$`, "migrate")
	f.says(f.owner(), 0, `"rebuild":true`, "migrate", "--json")
	f.says(f.owner(), 1, `(^|\n)error: the projection was built by another release, .*\n'callboard rebuild --dry-run' shows what would change`, "verify")
	f.says(f.owner(), 0, `^Nothing would change: `, "rebuild", "--dry-run")
	f.says(f.owner(), 0, `Generation 2 is live: `, "rebuild", "--keep")
	f.says(f.owner(), 1, `another release built it: run 'callboard rollback' of that release`, "rollback")
	f.says(f.owner(), 0, `"rebuild":false`, "migrate", "--json")
	f.says(f.owner(), 0, ` are as they should be\.\n$`, "verify")
}
