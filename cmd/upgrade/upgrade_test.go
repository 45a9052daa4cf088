package upgrade_test

import (
	"encoding/base64"
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/cmd/healthcheck"
	"callboard/cmd/programtest"
	"callboard/events"
	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m) }

//nolint:gochecknoglobals // flags are
var upgrade = flag.Bool("upgrade", false, "run the test of an upgrade, which builds two releases")

// installation is NATS and a database that the previous release has made.
type installation struct {
	*testing.T
	previous, current release
	nats              *eventstest.Server
	database          *schematest.Database
	secret            string
}

func newInstallation(t *testing.T) installation {
	t.Helper()
	i := installation{
		T: t, previous: previousRelease(t), current: build(t, "current", "../.."),
		nats: eventstest.NewServer(t), database: schematest.NewEmpty(t),
		secret: base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 32))),
	}
	i.previous.command(i.env(i.database.URL()), "migrate")
	i.previous.command(i.owner(), "stream", "create")
	return i
}

func (i installation) env(postgres string) map[string]string {
	return map[string]string{
		"CALLBOARD_NATS_URL": i.nats.URL(), "CALLBOARD_POSTGRES_URL": postgres, "CALLBOARD_KEY_PEPPER": i.secret,
		"CALLBOARD_ADMIN_LISTEN": "127.0.0.1:0",
	}
}

func (i installation) owner() map[string]string { return i.env(i.database.URL()) }

func (i installation) operator() map[string]string {
	return i.env(i.database.RoleURL("callboard_operator"))
}

func (i installation) startProjector(r release) *programtest.Process {
	i.Helper()
	return r.start("projector", i.env(i.database.RoleURL("callboard_projector")))
}

// reader is a running reader that is ready.
type reader struct {
	*programtest.Process
	url string
}

func (i installation) startReader(r release) reader {
	i.Helper()
	env := i.env(i.database.RoleURL("callboard_reader"))
	env["CALLBOARD_BASE_URL"] = "https://phones.example.com/v1"
	env["CALLBOARD_CURSOR_KEY"] = i.secret
	env["CALLBOARD_AUDIO_URL"] = "file://" + i.TempDir()
	env["CALLBOARD_LISTEN"] = "127.0.0.1:0"
	p := r.start("readapi", env)
	read := reader{p, "http://" + p.Await(`"public":"([^"]+)"`)[1] + "/v1"}
	admin := "http://" + p.Await(`"admin":"([^"]+)"`)[1]
	eventstest.Eventually(i, p.Name()+" is ready", func() bool {
		_, err := healthcheck.Get(i.Context(), admin+"/readyz")
		return err == nil
	})
	return read
}

// urls returns the URLs that clients request of readers.
func urls(system string, readers ...reader) (list []string) {
	for _, path := range []string{"", "/" + system + "/phones", "/" + system + "/call-logs"} {
		for _, r := range readers {
			list = append(list, r.url+"/customer/phone-systems"+path)
		}
	}
	return list
}

// queryText returns the only column of a query's only row.
func (i installation) queryText(query string) string {
	i.Helper()
	return schematest.QueryOne[string](i, i.database.Pool(i), query)
}

// awaitProgress waits until the projectors have applied events and the clients have had answers from now on.
func (i installation) awaitProgress(load *programtest.Load, what string) {
	i.Helper()
	const read = "select coalesce(sum(read), 0)::text from projection.message_count"
	before := i.queryText(read)
	eventstest.Eventually(i, "events are applied: "+what, func() bool { return i.queryText(read) != before })
	load.AwaitAnswers(20)
}

// TestUpgrade goes from the previous release to this one and back, under load: no request fails, and the rows are those of a replay.
func TestUpgrade(t *testing.T) {
	if !*upgrade {
		t.Skip("it builds two releases: run it with -upgrade")
	}
	i := newInstallation(t)
	oldProjector, oldReader := i.startProjector(i.previous), i.startReader(i.previous)
	traffic := i.previous.start("callboard", i.operator(), "simulate", "--calls", "1000000", "--rate", "200")
	eventstest.Eventually(t, "phone systems with calls", func() bool {
		return i.queryText("select count(distinct system_id)::text from projection.call_log") == "4"
	})
	system := i.queryText("select min(system_id::text) from projection.call_log")
	load := programtest.StartLoad(t, 2, 80*time.Millisecond, i.keys(system), urls(system, oldReader))

	i.retryDeadLetter(i.previous, system)

	// Forward, in the order of deploy/upgrade.md.
	var migrated struct{ Rebuild bool }
	i.current.decode(i.owner(), &migrated, "migrate")
	i.awaitProgress(load, "the previous programs on the migrated database")
	i.current.command(i.owner(), "stream", "update")
	i.awaitProgress(load, "the previous programs on the updated stream")
	if migrated.Rebuild {
		i.current.command(i.operator(), "dead-letters", "republish")
		i.current.command(i.owner(), "rebuild", "--keep")
	}
	i.checkRetried("after the rebuild")
	newProjector := i.startProjector(i.current)
	i.awaitProgress(load, "projectors of both releases")
	oldProjector.StopCleanly(os.Interrupt)
	i.awaitProgress(load, "this release's projector with the previous reader")
	newReader := i.startReader(i.current)
	load.Use(urls(system, oldReader, newReader)...)
	i.awaitProgress(load, "readers of both releases")
	load.Use(urls(system, newReader)...)
	oldReader.StopCleanly(os.Interrupt)
	i.awaitProgress(load, "this release alone")
	i.retryDeadLetter(i.current, system)
	i.current.command(i.operator(), "verify")

	// Back, in the reverse order.
	oldReader = i.startReader(i.previous)
	load.Use(urls(system, oldReader, newReader)...)
	i.awaitProgress(load, "readers of both releases, on the way back")
	load.Use(urls(system, oldReader)...)
	newReader.StopCleanly(os.Interrupt)
	if migrated.Rebuild {
		i.previous.command(i.owner(), "rollback")
	}
	oldProjector = i.startProjector(i.previous)
	i.awaitProgress(load, "projectors of both releases, on the way back")
	newProjector.StopCleanly(os.Interrupt)
	i.awaitProgress(load, "the previous release alone")
	i.checkRetried("after the way back")
	i.previous.command(i.operator(), "verify")

	answers := load.Stop()
	traffic.RequireRunning() // events arrived until here
	oldReader.StopCleanly(os.Interrupt)
	i.awaitAudited(answers)
	oldProjector.StopCleanly(os.Interrupt)
	t.Logf("answers: %d", answers)
}

// awaitAudited waits until the audit has as many requests as were answered. Readers of both releases have recorded them.
func (i installation) awaitAudited(answers int64) {
	i.Helper()
	want := strconv.FormatInt(answers, 10)
	eventstest.Eventually(i, "the audit has "+want+" requests", func() bool {
		return i.queryText("select coalesce(sum(count), 0)::text from access.audit") == want
	})
}

// refusedNumber is an extension's number that PostgreSQL refuses for a while.
const refusedNumber = "999999"

// retryDeadLetter makes a dead letter of an extension, and a release retries it when it can be applied.
func (i installation) retryDeadLetter(r release, system string) {
	i.Helper()
	exec := func(statement string) {
		i.Helper()
		schematest.Exec(i, i.database.Pool(i), statement)
	}
	exec("alter table projection.extension add constraint refuse check (number <> '" + refusedNumber + "') not valid")
	extension := &events.Extension{
		ID: uuid.New(), PhoneSystemID: uuid.MustParse(system), Version: 1, Number: refusedNumber, Name: "Retried", Status: "active",
	}
	publisher := events.NewPublisher(eventstest.JetStream(i, i.nats.URL()), "test")
	if err := publisher.Publish(i.Context(), events.Changed(extension)); err != nil {
		i.Fatal(err)
	}
	const open = "select count(*)::text from control.dead_letter where resolution is null"
	eventstest.Eventually(i, "a dead letter", func() bool { return i.queryText(open) == "1" })
	exec("alter table projection.extension drop constraint refuse")
	r.command(i.operator(), "dead-letters", "retry", "--all")
	i.checkRetried("retried by the " + r.name + " release")
}

// checkRetried checks that every retried extension is in the projection.
func (i installation) checkRetried(when string) {
	i.Helper()
	got := i.queryText("select count(*)::text from projection.extension where number = '" + refusedNumber + "'")
	if want := i.queryText("select count(*)::text from control.dead_letter where resolution = 'applied'"); got != want {
		i.Errorf("%s: retried extensions = %s, want %s", when, got, want)
	}
}

// keys issues some keys of a phone system for the clients: one alone would use its budget up.
func (i installation) keys(system string) (list []string) {
	i.Helper()
	for range 6 {
		var issued struct{ Key string }
		i.previous.decode(i.operator(), &issued, "keys", "issue", "--name", "upgrade", "--system", system,
			"--scopes", "phones:read,calls:read", "--tier", "premium")
		list = append(list, issued.Key)
	}
	return list
}
