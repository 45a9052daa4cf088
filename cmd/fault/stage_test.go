package fault_test

import (
	"encoding/base64"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/audit"
	"callboard/events/eventstest"
	"callboard/readapi/access"
)

const (
	live       = "live" // the database that suffers
	partitions = 8
	premium    = 6000 // requests a minute, which is more than the clients make
)

// stage is callboard as operators run it, with everything between its parts in the test's hands.
type stage struct {
	tb   testing.TB
	dice *rand.Rand // of the faults
	long bool       // whether some faults last long

	nats     *broker
	postgres *server
	js       jetstream.JetStream // past all lines, and so is the pool
	pool     *pgxpool.Pool

	toNATS, toPostgres lineSet
	projectors         []*program
	readers            []*reader
	operator           *program      // callboard
	whole              time.Duration // how long a rebuild took last

	secret  []byte // of keys, cursors and links
	audio   string // the folder of the recordings' audio
	keyring *keyring
	feed    *feed
	figures *figures
	outages int // of PostgreSQL
}

// lineSet are the lines to one server.
type lineSet struct {
	projectors, readers *line
}

func newStage(t *testing.T, seed uint64, p pace) *stage {
	t.Helper()
	s := &stage{
		tb: t, dice: rand.New(rand.NewPCG(seed, 1)), secret: []byte(strings.Repeat("s", 32)), audio: t.TempDir(),
		figures: newFigures(), whole: 2 * time.Second,
	}
	logs := t.TempDir()
	s.nats, s.postgres = newBroker(t, logs), newServer(t)
	s.js = s.nats.connect()
	eventstest.CreateStream(t, s.js, partitions)
	if _, err := events.EnsureStream(t.Context(), s.js, audit.StreamConfig(1)); err != nil {
		t.Fatal(err)
	}
	s.postgres.database(live)
	s.postgres.exec(live, gateSQL)
	s.hang()
	s.pool = s.postgres.pool(s.postgres.URL(live), "")
	postgres := net.JoinHostPort("127.0.0.1", strconv.Itoa(s.postgres.Port()))
	s.toNATS = lineSet{newLine(t, "projectors-NATS", s.nats.address), newLine(t, "readers-NATS", s.nats.address)}
	s.toPostgres = lineSet{newLine(t, "projectors-PostgreSQL", postgres), newLine(t, "readers-PostgreSQL", postgres)}
	s.feed = s.newFeed(seed, p)
	s.keyring = s.issueKeys()
	s.start(build(t, raceDetector, "callboard/cmd/callboard", "callboard/cmd/projector", "callboard/cmd/readapi"), logs)
	s.caughtUp()
	return s
}

// start starts two projectors, of which the second stands by, and two readers. Commands are run as the schema's owner.
func (s *stage) start(programs, logs string) {
	s.tb.Helper()
	s.operator = &program{
		tb: s.tb, name: "callboard", path: filepath.Join(programs, "callboard"), logs: logs,
		env: map[string]string{"CALLBOARD_NATS_URL": "nats://" + s.nats.address, "CALLBOARD_POSTGRES_URL": s.postgres.URL(live)},
	}
	s.operator.hold()
	for _, number := range []string{"1", "2"} {
		p := &program{
			tb: s.tb, name: "projector-" + number, path: filepath.Join(programs, "projector"), logs: logs,
			env: s.env(s.toNATS.projectors, s.toPostgres.projectors, projectorRole),
		}
		p.hold()
		p.start()
		s.projectors = append(s.projectors, p)
		r := &reader{program: &program{
			tb: s.tb, name: "reader-" + number, path: filepath.Join(programs, "readapi"), logs: logs, env: s.readerEnv(),
		}}
		r.hold()
		r.start()
		s.readers = append(s.readers, r)
	}
}

func (s *stage) env(nats, postgres *line, role string) map[string]string {
	return map[string]string{
		"CALLBOARD_NATS_URL": "nats://" + nats.address(), "CALLBOARD_POSTGRES_URL": s.postgres.lineURL(postgres, role, live),
		"CALLBOARD_ADMIN_LISTEN": "127.0.0.1:0",
	}
}

// baseURL is where clients believe the service to be.
const baseURL = "https://phones.example.com/v1"

func (s *stage) readerEnv() map[string]string {
	env := s.env(s.toNATS.readers, s.toPostgres.readers, readerRole)
	env["CALLBOARD_BASE_URL"] = baseURL
	env["CALLBOARD_LISTEN"] = "127.0.0.1:0"
	env["CALLBOARD_PREMIUM_PER_MINUTE"] = strconv.Itoa(premium)
	env["CALLBOARD_AUDIO_URL"] = "file://" + s.audio
	env["CALLBOARD_KEY_PEPPER"] = base64.StdEncoding.EncodeToString(s.secret)
	env["CALLBOARD_CURSOR_KEY"] = base64.StdEncoding.EncodeToString(s.secret)
	return env
}

func (s *stage) pepper() access.Pepper {
	s.tb.Helper()
	pepper, err := access.NewPepper(s.secret)
	if err != nil {
		s.tb.Fatal(err)
	}
	return pepper
}

// number is the first column of a query's one row.
func (s *stage) number(query string) int64 {
	s.tb.Helper()
	var n int64
	if err := s.pool.QueryRow(s.tb.Context(), query).Scan(&n); err != nil {
		s.tb.Fatalf("%s: %v", query, err)
	}
	return n
}

// stream is the stream of events as it is now. A server that has just started may not know it yet.
func (s *stage) stream() (found jetstream.Stream) {
	s.tb.Helper()
	await(s.tb, "the stream", func() bool {
		var err error
		found, err = s.js.Stream(s.tb.Context(), events.StreamName)
		return err == nil
	})
	return found
}

// created is when the stream was, as the tables have it.
func (s *stage) created() time.Time {
	s.tb.Helper()
	return s.stream().CachedInfo().Created.Truncate(time.Microsecond)
}

// caughtUp waits until every partition stands where the stream ends now.
func (s *stage) caughtUp() {
	s.tb.Helper()
	head := s.stream().CachedInfo().State.LastSeq
	await(s.tb, "every partition at the stream's end", func() bool { return s.behind(s.pool, head) == 0 })
}

// behind is how many partitions stand before a sequence.
func (s *stage) behind(pool *pgxpool.Pool, head uint64) (n int) {
	s.tb.Helper()
	err := pool.QueryRow(s.tb.Context(),
		"select $1 - count(*)::int from projection.position where sequence >= $2", partitions, int64(head)).Scan(&n)
	if err != nil {
		s.tb.Fatal(err)
	}
	return n
}
