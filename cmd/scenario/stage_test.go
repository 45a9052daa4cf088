package scenario_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events"
	trail "callboard/events/audit"
	"callboard/events/eventstest"
	"callboard/projector"
	filing "callboard/projector/audit"
	"callboard/readapi"
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/audit"
	"callboard/readapi/docs/docstest"
	"callboard/readapi/limit"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m) }

// stage is everything between a publisher and a customer.
type stage struct {
	t         *testing.T
	database  *schematest.Database
	peppers   []access.Pepper
	stream    jetstream.Stream
	publisher *events.Publisher
	js        jetstream.JetStream
	tables    *pgxpool.Pool // the projector's
	pool      *pgxpool.Pool
	registry  *access.Registry
	api       *httptest.Server
	sounds    string // the folder of the recordings' audio
	log       *journal

	stopProjector func()

	contract *docstest.Contract
}

func newStage(t *testing.T) *stage {
	t.Helper()
	database := schematest.New(t)
	server := eventstest.NewServer(t)
	js := eventstest.JetStream(t, server.URL())
	pepper := newPepper(t)
	s := &stage{
		t:         t,
		database:  database,
		peppers:   []access.Pepper{pepper},
		stream:    eventstest.CreateStream(t, js, events.DefaultPartitions),
		publisher: events.NewPublisher(js, "scenario"),
		js:        js,
		tables:    rolePool(t, database, "callboard_projector", "projection"),
		pool:      database.Pool(t),
		registry:  access.NewRegistry(rolePool(t, database, "callboard_operator", ""), pepper),
		sounds:    t.TempDir(),
		log:       &journal{},
	}
	contract, err := docstest.New()
	if err != nil {
		t.Fatal(err)
	}
	s.contract = contract
	if _, err := js.CreateStream(t.Context(), trail.StreamConfig(1)); err != nil {
		t.Fatal(err)
	}
	s.stopProjector = s.project()
	s.file()
	s.serve()
	return s
}

// plenty is a budget that no test uses up. What the contract's budgets are is proven with readers as operators run them.
const plenty = 1_000_000

// serve starts the reader. Its base URL is its own address, so that the links it hands out work.
func (s *stage) serve() {
	s.t.Helper()
	limiter, err := limit.New(limit.Config{
		JetStream: s.js, Report: plenty, Standard: plenty, Premium: plenty, DecisionTimeout: time.Minute, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	journal, err := audit.NewQueue(audit.Config{JetStream: s.js, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.hold(limiter.Run)
	s.hold(journal.Run)
	s.api = httptest.NewUnstartedServer(nil)
	s.api.Config.Handler, err = readapi.New(readapi.Config{
		Primary: rolePool(s.t, s.database, "callboard_reader", ""), Peppers: s.peppers, Limiter: limiter, AuditQueue: journal,
		Secret: newSecret(), Audio: s.audio(), BaseURL: "http://" + s.api.Listener.Addr().String() + "/v1", Log: zerolog.New(s.log),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.api.Start()
	s.t.Cleanup(s.api.Close)
}

func (s *stage) audio() audio.Location {
	s.t.Helper()
	at, err := audio.ParseLocation("file://" + s.sounds)
	if err != nil {
		s.t.Fatal(err)
	}
	return at
}

// file starts the projector's other half, which files the audit.
func (s *stage) file() {
	s.t.Helper()
	filer, err := filing.New(filing.Config{JetStream: s.js, Database: s.tables, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.hold(filer.Run)
}

// hold runs an actor until the test ends or stop is called, which returns once it has ended.
func (s *stage) hold(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(stop)
	return stop
}

// keep puts audio into the store.
func (s *stage) keep(key, audio string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.sounds, key), []byte(audio), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func newSecret() []byte {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return secret
}

func newPepper(t *testing.T) access.Pepper {
	t.Helper()
	pepper, err := access.NewPepper(newSecret())
	if err != nil {
		t.Fatal(err)
	}
	return pepper
}

func rolePool(t *testing.T, database *schematest.Database, role, searchPath string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(database.RoleURL(role))
	if err != nil {
		t.Fatal(err)
	}
	if searchPath != "" {
		config.ConnConfig.RuntimeParams["search_path"] = searchPath
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// project starts a projector, which stops with the test if stop hasn't been called before. Stop returns once it has ended.
func (s *stage) project() (stop func()) {
	s.t.Helper()
	p, err := projector.New(projector.Config{
		JetStream: s.js, Stream: events.StreamName, Database: s.tables, Tick: 50 * time.Millisecond,
		Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.hold(p.Run)
}

// happen publishes changes and waits until they are in the tables.
func (s *stage) happen(list ...events.Event) {
	s.t.Helper()
	if err := s.publisher.Publish(s.t.Context(), list...); err != nil {
		s.t.Fatal(err)
	}
	s.settle()
}

// settle waits until everything published is in the tables.
func (s *stage) settle() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	if err := s.settled(ctx); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) settled(ctx context.Context) error {
	info, err := s.stream.Info(ctx)
	if err != nil {
		return err
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var behind int
		query := "select $1 - count(*) from projection.position where sequence >= $2"
		if err := s.pool.QueryRow(ctx, query, events.DefaultPartitions, int64(info.State.LastSeq)).Scan(&behind); err != nil {
			return err
		}
		if behind == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d partitions behind: %w", behind, ctx.Err())
		case <-tick.C:
		}
	}
}

func (s *stage) key(request access.Request) access.Key {
	s.t.Helper()
	request.Name = "scenario"
	if request.Scopes == nil {
		request.Scopes = access.Scopes()
	}
	issued, err := s.registry.Issue(s.t.Context(), request)
	if err != nil {
		s.t.Fatal(err)
	}
	return issued.Key
}

func (s *stage) systemKey(system uuid.UUID) access.Key {
	s.t.Helper()
	return s.key(access.Request{Grant: access.Grant{Kind: access.GrantSystem, ID: system}})
}

// answer is a response, with its body decoded where that is a JSON object.
type answer struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

func (s *stage) get(key access.Key, path string) answer {
	s.t.Helper()
	return s.send(http.MethodGet, s.api.URL+"/v1/customer/phone-systems"+path, http.Header{"X-Api-Key": {key.Reveal()}})
}

// send makes a request of any kind.
func (s *stage) send(method, url string, header http.Header) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header = header
	response, err := s.api.Client().Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.conform(method, url, response, text)
	a := answer{status: response.StatusCode, header: response.Header, text: string(text)}
	if strings.HasSuffix(a.header.Get("Content-Type"), "json") {
		if err := json.Unmarshal(text, &a.body); err != nil {
			s.t.Fatalf("%s: %v", url, err)
		}
	}
	return a
}

// conform fails the test if the contract does not allow the answer.
func (s *stage) conform(method, url string, response *http.Response, body []byte) {
	s.t.Helper()
	header := response.Header.Clone()
	header.Del("Date") // the server's own
	path := url
	if _, below, found := strings.Cut(url, "/v1"); found {
		path = below
	}
	err := s.contract.Check(docstest.Response{Method: method, Path: path, Status: response.StatusCode, Header: header, Body: body})
	if err != nil {
		s.t.Errorf("%s %.300s: %d is outside the contract: %v\n%.2000s", method, url, response.StatusCode, err, body)
	}
}

// expect reads a path and holds the answer against a status and members given as path=JSON.
func (s *stage) expect(key access.Key, path string, status int, members ...string) {
	s.t.Helper()
	a := s.get(key, path)
	if a.status != status {
		s.t.Errorf("GET %s: %d, want %d (%v)", path, a.status, status, a.body)
		return
	}
	for _, member := range members {
		name, want, _ := strings.Cut(member, "=")
		var value any = a.body
		for _, part := range strings.Split(name, ".") {
			value = step(value, part)
		}
		got, err := json.Marshal(value)
		if err != nil || string(got) != want {
			s.t.Errorf("GET %s: %s is %s, want %s", path, name, got, want)
		}
	}
}

// step is a member of an object, an element of an array by its digit, or an array's length by "#".
func step(value any, part string) any {
	switch v := value.(type) {
	case map[string]any:
		return v[part]
	case []any:
		if part == "#" {
			return len(v)
		}
		if i := int(part[0] - '0'); i < len(v) {
			return v[i]
		}
	}
	return nil
}
