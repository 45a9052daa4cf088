package scenario_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/readapi"
	"callboard/readapi/access"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m) }

// stage is everything between a publisher and a customer.
type stage struct {
	t         *testing.T
	stream    jetstream.Stream
	publisher *events.Publisher
	pool      *pgxpool.Pool
	registry  *access.Registry
	api       *httptest.Server
}

func newStage(t *testing.T) *stage {
	t.Helper()
	database := schematest.New(t)
	server := eventstest.NewServer(t)
	js := eventstest.JetStream(t, server.URL())
	pepper := newPepper(t)
	s := &stage{
		t:         t,
		stream:    eventstest.CreateStream(t, js, events.DefaultPartitions),
		publisher: events.NewPublisher(js, "scenario"),
		pool:      database.Pool(t),
		registry:  access.NewRegistry(rolePool(t, database, "callboard_operator", ""), pepper),
	}
	s.project(js, rolePool(t, database, "callboard_projector", "projection"))
	handler, err := readapi.New(readapi.Config{
		Primary: rolePool(t, database, "callboard_reader", ""), Peppers: []access.Pepper{pepper},
		BaseURL: "https://api.example/v1", Log: zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.api = httptest.NewServer(handler)
	t.Cleanup(s.api.Close)
	return s
}

func newPepper(t *testing.T) access.Pepper {
	t.Helper()
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	pepper, err := access.NewPepper(secret)
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

func (s *stage) project(js jetstream.JetStream, pool *pgxpool.Pool) {
	s.t.Helper()
	p, err := projector.New(projector.Config{
		JetStream: js, Stream: events.StreamName, Database: pool, Tick: 50 * time.Millisecond,
		Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	})
}

// happen publishes changes and waits until they are in the tables.
func (s *stage) happen(list ...events.Event) {
	s.t.Helper()
	if err := s.publisher.Publish(s.t.Context(), list...); err != nil {
		s.t.Fatal(err)
	}
	info, err := s.stream.Info(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		var behind int
		query := "select $1 - count(*) from projection.position where sequence >= $2"
		if err := s.pool.QueryRow(s.t.Context(), query, events.DefaultPartitions, int64(info.State.LastSeq)).Scan(&behind); err != nil {
			s.t.Fatal(err)
		}
		if behind == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%d partitions behind after a minute", behind)
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

// answer is a response with its body as decoded JSON.
type answer struct {
	status int
	header http.Header
	body   map[string]any
}

func (s *stage) get(key access.Key, path string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.api.URL+"/v1/customer/phone-systems"+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("X-API-Key", key.Reveal())
	response, err := s.api.Client().Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	if err := json.NewDecoder(response.Body).Decode(&a.body); err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
	return a
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
