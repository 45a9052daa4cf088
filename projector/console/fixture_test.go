package console

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events"
	"callboard/projector/deadletter"
	"callboard/projector/ingest"
	"callboard/projector/status"
)

// The payload of a hostile publisher: it tries to leave its element, to add a handler, to hide text and to reach another server.
const hostile = "{\"name\":\"</pre></details><script>document.title='script ran'</script><img src=x onerror=document.title='handler'>\"," +
	"\"bidi\":\"\u202egnp.exe\",\"zero\":\"\x00\",\"link\":\"javascript:alert(1)\"}"

func pointer[T any](v T) *T { return &v }

// reportOf returns a report of partitions that are current.
func reportOf(now time.Time, partitions int) status.Report {
	r := status.Report{
		Stream: events.StreamName, Messages: 6_621_904, Time: now, ClockAgeSeconds: pointer(0.5), Generation: pointer[int64](7), Migrated: true, Balanced: true,
		Generations: []status.Generation{
			{ID: 7, State: status.Live, StartedAt: now.Add(-90 * time.Hour), SwitchedAt: pointer(now.Add(-89 * time.Hour)), Current: true},
		},
	}
	for _, entity := range events.Entities() {
		r.MessageCounts = append(r.MessageCounts, status.MessageCount{Entity: entity, Read: 441_460, Applied: 441_200, Stale: 250, Ignored: 10})
	}
	for i := range partitions {
		head := uint64(6_600_000 + 311*i)
		r.Partitions = append(r.Partitions, status.Partition{
			Partition: i, Head: head, Position: head, Watermark: pointer(now.Add(-400 * time.Millisecond)),
			Owner: pointer(fmt.Sprintf("projector@callboard-projector-%d/1", i%2)), MessageCounts: []status.MessageCount{},
		})
	}
	return r
}

// problemSnapshot returns a snapshot of 16 partitions in which nothing is as it should be.
func problemSnapshot(now time.Time) snapshot {
	before, r := reportOf(now.Add(-5*time.Second), 16), reportOf(now, 16)
	p := r.Partitions
	p[3].Owner, p[4].Owner = nil, nil
	p[7].StopReason = ingest.StreamRegressed
	p[7].StopDetail = "stream PHONES ends at sequence 6602177 and has lost messages up to the position, 6602190; restore the stream, or run 'callboard rebuild'"
	p[7].Watermark = pointer(now.Add(-50 * time.Minute))
	p[11].Position, p[11].LagEvents, p[11].LagSeconds, p[11].Watermark = p[11].Head-1840, 1840, 72.4, pointer(now.Add(-72*time.Second))
	p[12].Missing = 3
	before.Partitions[11].LagEvents = 2900
	r.Balanced = false
	r.DeadLetters, r.DeadLettersRetrying = 1_204, 1
	r.Generations = append([]status.Generation{
		{ID: 8, State: status.Building, StartedAt: now.Add(-6 * time.Minute), Current: true},
	}, append(r.Generations, status.Generation{ID: 6, State: "previous", StartedAt: now, SwitchedAt: pointer(now.Add(-200 * time.Hour))})...)
	overview := deadletter.Overview{Counted: 1_204, Waiting: 1, Reasons: []deadletter.ReasonCount{
		{Reason: "/object: its entry can't be read", Count: 1_190}, {Reason: "/participants/*/number: must be a string", Count: 13},
		{Reason: "<script>document.title='reason'</script>", Count: 1},
	}}
	for i := range 12 {
		overview.DeadLetters = append(overview.DeadLetters, letterOf(now, int64(4_204-i)))
	}
	return snapshot{report: &r, before: &before, deadLetters: overview, readAt: now.Add(-time.Second)}
}

// letterOf returns a dead letter. Every third is hostile, every fifth is one of the audit.
func letterOf(now time.Time, id int64) deadletter.Excerpt {
	l := deadletter.Excerpt{Detail: deadletter.Detail{
		DeadLetter: deadletter.DeadLetter{
			ID: id, State: deadletter.Open, Stream: uuid.NullUUID{UUID: uuid.New(), Valid: true}, Sequence: 6_000_000 + id, Partition: int(id % 16),
			Subject: "phones.3.7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10.transcript", Reason: "/object: its entry can't be read: nats: object not found",
			StoredAt: now.Add(-time.Duration(id) * time.Minute),
		},
		Header: nats.Header{"ce-id": {"1"}, "ce-type": {"callboard.transcript.changed"}, "Content-Type": {"application/json"}},
		Data:   []byte(`{"phoneSystemId":"7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10","version":4,"status":"completed","object":{"bucket":"PHONE_TRANSCRIPTS"}}`),
	}, Size: 128}
	switch {
	case id%3 == 0:
		l.Data, l.Size, l.Reason, l.Subject = []byte(hostile), 93_113, "<script>document.title='reason'</script>", "phones.3.<b>x</b>.call"
		l.Header["<i>ce-x</i>"] = []string{"\"><script>document.title='header'</script>"}
	case id%5 == 0:
		l.Stream, l.Reason, l.State = uuid.NullUUID{}, "audit 1: its time is more than a day ahead", deadletter.Waiting
	}
	l.Advice = deadletter.Advice(l.DeadLetter)
	return l
}

// hour fills the history: a rise and a fall of partition 11, a gap, and ages below a second of all others.
func hour(h *history, now time.Time, partitions int, highest float64) {
	for at := now.Add(-window); at.Before(now); at = at.Add(defaultInterval) {
		minute := now.Sub(at).Minutes()
		ages := make(map[int]time.Duration)
		for p := range partitions {
			ages[p] = time.Duration((400 + 300*math.Sin(minute+float64(p))) * float64(time.Millisecond))
		}
		if partitions > 11 {
			distance := (minute - 4) / 7
			ages[11] += time.Duration(highest * math.Exp(-distance*distance) * float64(time.Second))
		}
		if minute > 38 && minute < 41 {
			ages = nil // PostgreSQL did not answer
		}
		h.add(at, ages)
	}
}

func failedSnapshot(now time.Time) snapshot {
	s := problemSnapshot(now)
	s.readAt = now.Add(-74 * time.Second)
	s.failure = &failure{
		postgres: errors.New("failed to connect to `user=callboard_projector database=callboard`:\n\t10.0.3.7:5432 (db): dial error: connection refused"),
		cause:    errors.New("positions: timeout"),
	}
	return s
}

// newFixture returns a console with a snapshot, which is not read again.
func newFixture(t *testing.T, s snapshot) *Console {
	t.Helper()
	c, err := New(Config{Source: status.Source{Stream: events.StreamName}})
	if err != nil {
		t.Fatal(err)
	}
	c.cache.last, c.cache.tried = s, time.Now().Add(time.Hour)
	return c
}

// serve serves the page of a snapshot.
func serve(t *testing.T, s snapshot, fill func(*history)) (url string) {
	t.Helper()
	c := newFixture(t, s)
	fill(&c.history)
	return serveConsole(t, c)
}

func serveConsole(t *testing.T, c *Console) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	for pattern, handler := range c.Pages() {
		mux.Handle(pattern, handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}
