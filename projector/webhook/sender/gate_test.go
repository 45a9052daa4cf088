package sender_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"callboard/events/eventstest"
	"callboard/projector/webhook/sender"
	"callboard/schema/schematest"
)

func newGate(t *testing.T, unreachable time.Duration, urls ...string) *sender.Gate {
	t.Helper()
	return newGateLogging(t, zerolog.Nop(), unreachable, urls...)
}

func newGateLogging(t *testing.T, log zerolog.Logger, unreachable time.Duration, urls ...string) *sender.Gate {
	t.Helper()
	gate := sender.NewGate(sender.GateConfig{Unreachable: unreachable, Log: log, Databases: func() (list []*pgx.ConnConfig, err error) {
		for _, url := range urls {
			config, parseErr := pgx.ParseConfig(url)
			list, err = append(list, config), errors.Join(err, parseErr)
		}
		return list, err
	}})
	t.Cleanup(gate.Close)
	return gate
}

// applied makes a database have the rows of a partition up to a sequence.
func applied(t *testing.T, database *schematest.Database, stream string, partition, sequence int) {
	t.Helper()
	schematest.Exec(t, database.Pool(t), applySQL, partition, stream, sequence)
}

// A notice waits for the slowest of the readers' databases, partition by partition.
func TestGate_WaitsForTheSlowest(t *testing.T) {
	t.Parallel()
	fast, slow := schematest.New(t), schematest.New(t)
	f := newFixture(t, newGate(t, 0, fast.RoleURL("callboard_webhooks"), slow.RoleURL("callboard_webhooks")))
	f.endpoint(1, "system", id(1), 0, ended)
	f.endpoint(2, "system", id(3), 0, ended)
	f.notice(0, 5, 0, id(1), ended)
	f.notice(0, 7, 0, id(1), ended)
	f.notice(1, 6, 0, id(3), ended)
	applied(t, fast, streamA, 0, 9)
	applied(t, fast, streamA, 1, 9)
	f.step()
	f.expect("nothing applied", 1, "")
	if at, err := f.HeldSince(t.Context()); err != nil || at == nil || time.Since(*at) > time.Hour {
		t.Errorf("held since %v, %v, want a moment ago", at, err)
	}
	applied(t, slow, streamA, 0, 6)
	f.await("up to sequence 6 of the first partition", 1, "5_0")
	f.expect("nothing of the second partition", 2, "")
	applied(t, slow, streamB, 1, 100)
	f.step()
	f.expect("another stream", 2, "")
	applied(t, slow, streamA, 0, 7)
	applied(t, slow, streamA, 1, 6)
	f.await("all of the first partition", 1, "5_0 7_0")
	f.await("all of the second partition", 2, "6_0")
	if at, err := f.HeldSince(t.Context()); err != nil || at != nil {
		t.Errorf("held since %v, %v, want nothing held", at, err)
	}
	// While a projection is replaced, the database has nothing.
	f.notice(0, 8, 0, id(1), ended)
	schematest.Exec(t, slow.Pool(t), "alter schema projection rename to replaced")
	f.step()
	f.expect("without a projection", 1, "5_0 7_0")

	// The other database can be the slowest, too.
	schematest.Exec(t, slow.Pool(t), "alter schema replaced rename to projection")
	f.notice(0, 15, 0, id(1), ended)
	applied(t, slow, streamA, 0, 20)
	f.await("up to sequence 9 of the first partition", 1, "5_0 7_0 8_0")
	f.expect("not what the slowest lacks", 1, "5_0 7_0 8_0")
	applied(t, fast, streamA, 0, 15)
	f.await("all of the first partition", 1, "5_0 7_0 8_0 15_0")
}

// A database that doesn't answer holds notices for a time, and then no more.
func TestGate_IgnoresUnreachableDatabases(t *testing.T) {
	t.Parallel()
	reachable := schematest.New(t)
	const wait = 20 * time.Second // the database that can be reached may answer a question late, and not the next one
	f := newFixture(t, newGate(t, wait, reachable.RoleURL("callboard_webhooks"), "postgres://callboard_webhooks@127.0.0.1:1/x"))
	f.endpoint(1, "system", id(1), 0, ended)
	f.notice(0, 5, 0, id(1), ended)
	applied(t, reachable, streamA, 0, 5)
	began := time.Now()
	released := f.step().Notices
	if released != 0 && time.Since(began) < wait {
		t.Errorf("notices at first = %d, want 0: the other database may answer soon", released)
	}
	eventstest.Eventually(t, "the other database is ignored", func() bool {
		released += f.step().Notices
		return released == 1
	})
	f.notice(0, 6, 0, id(1), ended)
	if r := f.step(); r.Notices != 0 {
		t.Errorf("notices above what the first database has = %d, want 0", r.Notices)
	}
}

// One failed question says little, also after a time in which nobody asked.
func TestGate_OneFailureAfterAQuietTime(t *testing.T) {
	t.Parallel()
	replica := schematest.New(t)
	address, err := url.Parse(replica.RoleURL("callboard_webhooks"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := eventstest.NewProxy(t, address.Host)
	address.Host = proxy.Addr()
	log := new(eventstest.LogBuffer)
	f := newFixture(t, newGateLogging(t, zerolog.New(log), time.Nanosecond, address.String())) // any time is a quiet one
	f.endpoint(1, "system", id(1), 0, ended)
	sequence, want := 0, ""
	// On a busy machine, a question can fail before: then the next failure is not the first one.
	eventstest.Eventually(t, "the replica answers, and then has what is released", func() bool {
		failures := log.Count("asking a reader's database failed")
		sequence++
		f.notice(0, sequence, 0, id(1), ended)
		applied(t, replica, streamA, 0, sequence)
		want = strings.TrimSpace(fmt.Sprintf("%s %d_0", want, sequence))
		f.await("what the replica has", 1, want)
		return log.Count("asking a reader's database failed") == failures
	})
	proxy.MoveTo("127.0.0.1:1")
	f.notice(0, sequence+1, 0, id(1), ended)
	f.step()
	f.expect("after a failed question", 1, want)
	if proxy.Connections() == 0 {
		t.Error("connections through the proxy = 0, want one")
	}
}

// A connection that broke while nobody asked is replaced within the question.
func TestGate_ReplacesABrokenConnection(t *testing.T) {
	t.Parallel()
	replica := schematest.New(t)
	f := newFixture(t, newGate(t, 0, replica.RoleURL("callboard_webhooks")))
	super := replica.Pool(t)
	applied(t, replica, streamA, 0, 1000)
	sequence := 0
	releases := func() bool {
		sequence++
		f.notice(0, sequence, 0, id(1), ended)
		return f.step().Notices == 1
	}
	eventstest.Eventually(t, "the first question after the end of the connection is answered", func() bool {
		eventstest.Eventually(t, "the gate is connected", releases)
		schematest.Exec(t, super, `select pg_terminate_backend(pid, 30000) from pg_stat_activity
			where usename = 'callboard_webhooks' and datname = current_database()`)
		return releases()
	})
}

// What an earlier stream made fetchable is released when all databases have the projection of the stream that replaced
// it.
func TestGate_ReplacedStream(t *testing.T) {
	t.Parallel()
	fast, slow := schematest.New(t), schematest.New(t)
	f := newFixture(t, newGate(t, 0, fast.RoleURL("callboard_webhooks"), slow.RoleURL("callboard_webhooks")))
	f.endpoint(1, "system", id(1), 0, ended)
	f.notice(0, 5, 0, id(1), ended)
	const now, replaced = streamB, streamA
	applied(t, f.Database, now, 0, 3)
	applied(t, fast, now, 0, 3)
	applied(t, slow, replaced, 0, 4)
	f.step()
	f.expect("while a database has the former projection", 1, "")
	applied(t, slow, now, 0, 1)
	f.await("after the switch", 1, "5_0")
}

// While it isn't known which databases readers use, nothing is released.
func TestGate_UnknownDatabases(t *testing.T) {
	t.Parallel()
	gate := sender.NewGate(sender.GateConfig{Log: zerolog.Nop(), Databases: func() ([]*pgx.ConnConfig, error) {
		return nil, errors.New("the password's file is missing")
	}})
	t.Cleanup(gate.Close)
	f := newFixture(t, gate)
	f.endpoint(1, "system", id(1), 0, ended)
	f.notice(0, 5, 0, id(1), ended)
	f.step()
	f.expect("without the databases", 1, "")
}
