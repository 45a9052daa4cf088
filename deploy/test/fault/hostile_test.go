package fault_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/deploy/test/programtest"
	"callboard/events"
	"callboard/events/eventstest"
	"callboard/readapi/access"
)

//nolint:gochecknoglobals // flags are
var hostileFlag = flag.Duration("hostile", 0,
	"how long TestHostile publishes, with a random seed; 0: a few seconds with a fixed one")

const (
	hostileMemory   = 512      // MiB of a container, as in docker-compose.yml
	hostileMemLimit = "461MiB" // GOMEMLIMIT there
	hostilePayload  = 8 << 20  // max_payload of deploy/nats.conf

	// servedLimit is how long a good event may wait for the bad ones before it, on a busy machine.
	servedLimit = 2 * time.Minute
)

// Whatever arrives in the stream: a good event behind a bad one is served, no partition stops, and projector and reader
// stay within the memory of their containers. What data may hold is proved in events, for random events.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	if programtest.RaceDetector() {
		t.Skip("the race detector takes several times the memory")
	}
	t.Parallel()
	period, number := 10*time.Second, uint64(1)
	if *hostileFlag > 0 {
		period, number = *hostileFlag, seed(t)
	}
	h := newHostile(t, number)
	ctx, cancel := context.WithTimeout(t.Context(), period)
	defer cancel()

	var running sync.WaitGroup
	for i := range h.systems {
		running.Go(func() { h.publish(ctx, cancel, h.newCalls(i)) })
	}
	running.Go(func() { h.publish(ctx, cancel, h.newGroups()) })
	running.Wait()

	for _, p := range []*process{h.projector, h.reader} {
		p.RequireRunning()
		peak := peakMemory(t, p)
		t.Logf("%s: memory = %d MiB", p.Name(), peak)
		if peak > hostileMemory {
			t.Errorf("%s: memory = %d MiB, want %d at most", p.Name(), peak, hostileMemory)
		}
	}
	t.Logf("%v, %d MB published, %d dead letters", h.counts, h.bytes/1e6, h.queryInt("select count(*) from control.dead_letter"))
	if !t.Failed() {
		h.checkStatus()
	}
}

// hostile is an installation, and what was published to it.
type hostile struct {
	*harness
	number            uint64
	projector, reader *process
	base              string // of the reader's URLs
	systems           []uuid.UUID
	group             uuid.UUID
	keys              []access.Key // of systems
	groupKey          access.Key
	objects           []events.Object

	counting sync.Mutex
	counts   map[string]int
	bytes    int64 // published
}

func newHostile(t *testing.T, number uint64) *hostile {
	t.Helper()
	h := &hostile{harness: prepareHarness(t, number), number: number, group: uuid.New(), counts: map[string]int{}}
	dir := t.TempDir()
	config := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, "max_payload: %d\n", hostilePayload), 0o600); err != nil {
		t.Fatal(err)
	}
	h.nats = startNATSServer(t, "nats", eventstest.FreePort(t), filepath.Join(dir, "store"), "-c", config)
	h.js, h.postgres = h.nats.connect(), newPostgresServer(t)
	h.createDatabase()
	h.operator = h.newOperator(nil)
	h.createStream()
	h.startProcesses()
	h.nameSystems()
	h.objects = h.storeObjects()
	return h
}

// startProcesses starts a projector and a reader with the memory of docker-compose.yml.
func (h *hostile) startProcesses() {
	h.tb.Helper()
	start := func(program, role string, settings map[string]string) *process {
		env := map[string]string{
			"CALLBOARD_NATS_URL": "nats://" + h.nats.address, "CALLBOARD_POSTGRES_URL": h.postgres.roleURL(role,
				liveDatabase),
			"CALLBOARD_ADMIN_LISTEN": "127.0.0.1:0", "GOMEMLIMIT": hostileMemLimit,
		}
		maps.Copy(env, settings)
		p := newProcess(h.tb, program, program, env)
		p.Start()
		return p
	}

	h.projector = start("projector", projectorRole, nil)
	settings := h.readerSettings()
	settings["CALLBOARD_PREMIUM_PER_MINUTE"] = "1000000"
	h.reader = start("readapi", readerRole, settings)
	h.base = "http://" + h.reader.Await(`"public":"([^"]+)"`)[1] + "/v1"
}

// nameSystems publishes phone systems of different partitions, and issues their keys.
func (h *hostile) nameSystems() {
	h.tb.Helper()
	random := rand.New(rand.NewPCG(h.number, 3))
	registry := access.NewRegistry(h.pool, h.pepper())
	issue := func(kind access.GrantKind, id uuid.UUID) access.Key {
		issued, err := registry.Issue(h.tb.Context(), access.KeySpec{
			Name: "hostile", Grant: access.Grant{Kind: kind, ID: id}, Scopes: access.Scopes(), Tier: access.TierPremium,
		})
		if err != nil {
			h.tb.Fatal(err)
		}
		return issued.Key
	}
	inPartition := func(n int) uuid.UUID {
		for {
			if id := randomID(random); events.Partition(id, partitions) == n {
				return id
			}
		}
	}

	publisher := events.NewPublisher(h.js, "good")
	global := events.Partition(uuid.Nil, partitions)
	for n := range 4 {
		partition := (global + 1 + n) % partitions
		system := inPartition(partition)
		h.systems = append(h.systems, system)
		h.keys = append(h.keys, issue(access.GrantSystem, system))
		if err := publisher.Publish(h.tb.Context(), events.Changed(&events.PhoneSystem{ID: system, Version: 1,
			Name: "good"})); err != nil {
			h.tb.Fatal(err)
		}
	}

	h.groupKey = issue(access.GrantGroup, h.group)
}

// good makes events that must be served, and tells whether one is.
type good struct {
	*hostileEvents
	next   func() events.Event
	served func(ctx context.Context) error // the last one
}

// newCalls makes calls of a phone system.
func (h *hostile) newCalls(i int) *good {
	g := &good{hostileEvents: h.newEvents(uint64(i), h.systems[i])}
	source := poisonSource{random: g.random}
	var last string
	g.next = func() events.Event {
		e := source.call(h.systems[i])
		last = e.Key
		return e
	}
	g.served = func(ctx context.Context) error {
		return h.expect(ctx, "/"+h.systems[i].String()+"/call-logs/"+last, h.keys[i], last)
	}
	return g
}

// newGroups makes versions of a group, whose key reads one phone system after the other.
func (h *hostile) newGroups() *good {
	g := &good{hostileEvents: h.newEvents(99, uuid.Nil)}
	var version int64
	member := func() uuid.UUID { return h.systems[version%int64(len(h.systems))] }
	g.next = func() events.Event {
		version++
		return events.Changed(&events.Group{ID: h.group, Version: version, Name: "good",
			PhoneSystemIDs: []uuid.UUID{member()}})
	}
	g.served = func(ctx context.Context) error { return h.expect(ctx, "", h.groupKey, member().String()) }
	return g
}

// expect requests a URL and returns an error unless the answer is 200 and has a text.
func (h *hostile) expect(ctx context.Context, path string, key access.Key, text string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.base+"/customer/phone-systems"+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("X-API-Key", key.Reveal())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !strings.Contains(string(body), text)) {
		err = fmt.Errorf("%s: %.300s", response.Status, body)
	}
	return err
}

// publish publishes bad events until ctx ends, and behind each a good one, which must be served.
func (h *hostile) publish(ctx context.Context, cancel context.CancelFunc, g *good) {
	publisher := events.NewPublisher(h.js, "good")
	for ctx.Err() == nil && !h.tb.Failed() {
		bad := g.bad()
		err := h.publishBad(bad)
		if err != nil {
			bad.name += ", refused"
		}
		h.count(bad.name, len(bad.Data))
		if err := h.publishGood(publisher, g); err != nil {
			h.tb.Errorf("the event behind %q of %d bytes is not served: %v; headers %.300q, subject %.300q, data %.900q",
				bad.name, len(bad.Data), err, fmt.Sprint(bad.Header), bad.Subject, bad.Data)
			cancel()
		}
	}
}

// publishGood publishes an event and waits until it is served.
func (h *hostile) publishGood(publisher *events.Publisher, g *good) error {
	ctx, cancel := context.WithTimeout(h.tb.Context(), servedLimit)
	defer cancel()
	if err := publisher.Publish(ctx, g.next()); err != nil {
		return err
	}
	var last error
	for pause := 5 * time.Millisecond; ; pause = min(pause*5/4, 600*time.Millisecond) {
		err := g.served(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return errors.Join(last, ctx.Err())
		case h.projector.HasExited() || h.reader.HasExited():
			return fmt.Errorf("a program has exited: %w", err)
		}
		last = err
		<-time.After(pause)
	}
}

// publishBad publishes a message as it is. The server may refuse it.
func (h *hostile) publishBad(bad hostileEvent) error {
	if bad.rawHeader != "" {
		return publishRaw(h.tb.Context(), h.nats.address, bad)
	}
	ctx, cancel := context.WithTimeout(h.tb.Context(), 10*time.Second)
	defer cancel()
	_, err := h.js.PublishMsg(ctx, &nats.Msg{Subject: bad.Subject, Header: bad.Header, Data: bad.Data})
	return err
}

func (h *hostile) count(what string, bytes int) {
	h.counting.Lock()
	defer h.counting.Unlock()
	h.counts[what]++
	h.bytes += int64(bytes)
}

// spent returns how many bytes were published.
func (h *hostile) spent() int64 {
	h.counting.Lock()
	defer h.counting.Unlock()
	return h.bytes
}

// peakMemory returns the most memory that a process had, in MiB.
func peakMemory(tb testing.TB, p *process) int {
	tb.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		tb.Fatal(err)
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		tb.Fatalf("%s: no VmHWM in its status", p.Name())
	}
	kilobytes, err := strconv.Atoi(string(found[1]))
	if err != nil {
		tb.Fatal(err)
	}
	return kilobytes >> 10
}

func randomID(random *rand.Rand) uuid.UUID {
	p := poisonSource{random: random}
	return p.id()
}
