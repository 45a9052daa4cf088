package console

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/deadletter"
	"callboard/projector/ingest"
	"callboard/projector/status"
)

// What a hostile publisher names: it tries to leave its element, to add a handler, and to hide text.
const hostile = "</span></details><script>document.title='reason'</script><img src=x onerror=document.title='handler'>\u202egnp.exe"

func pointer[T any](v T) *T { return &v }

// reportOf returns a report of partitions that are current.
func reportOf(now time.Time, partitions int) status.Report {
	r := status.Report{
		Stream: events.StreamName, Messages: 6_621_904, Time: now, ClockAgeSeconds: pointer(0.5), Generation: pointer[int64](7), Migrated: true,
		Generations: []status.Generation{
			{ID: 7, State: status.Live, StartedAt: now.Add(-90 * time.Hour), SwitchedAt: pointer(now.Add(-89 * time.Hour)), Current: true},
		},
	}
	for i := range partitions {
		head := uint64(6_600_000 + 311*i)
		r.Partitions = append(r.Partitions, status.Partition{
			Partition: i, Head: head, Position: head, Watermark: pointer(now.Add(-400 * time.Millisecond)),
			Owner: pointer(fmt.Sprintf("projector@callboard-projector-%d/1", i%2)),
		})
	}
	return r
}

// problemSnapshot returns a snapshot of 16 partitions in which nothing is as it should be.
func problemSnapshot(now time.Time) snapshot {
	r := reportOf(now, 16)
	p := r.Partitions
	p[3].Owner, p[4].Owner = nil, nil
	p[7].StopReason = ingest.StreamRegressed
	p[7].StopDetail = "stream PHONES ends at sequence 6602177 and has lost messages up to the position, 6602190; restore the stream, or run 'callboard rebuild'"
	p[7].Watermark = pointer(now.Add(-50 * time.Minute))
	p[11].Position, p[11].LagEvents, p[11].LagSeconds, p[11].Watermark = p[11].Head-1840, 1840, 72.4, pointer(now.Add(-72*time.Second))
	p[12].Missing = 3
	r.DeadLetters, r.DeadLettersRetrying = 1_204, 1
	r.Generations = append([]status.Generation{
		{ID: 8, State: status.Building, StartedAt: now.Add(-6 * time.Minute), Current: true},
	}, append(r.Generations, status.Generation{ID: 6, State: "previous", StartedAt: now, SwitchedAt: pointer(now.Add(-200 * time.Hour))})...)
	shown := snapshot{report: &r, readAt: now.Add(-time.Second)}
	for i := range 12 {
		shown.deadLetters = append(shown.deadLetters, letterOf(now, int64(4_204-i)))
	}
	return shown
}

// letterOf returns a dead letter. Every third is hostile, every fifth is one of the audit.
func letterOf(now time.Time, id int64) deadletter.DeadLetter {
	l := deadletter.DeadLetter{
		ID: id, State: deadletter.Open, Stream: uuid.NullUUID{UUID: uuid.New(), Valid: true}, Sequence: 6_000_000 + id, Partition: int(id % 16),
		Subject: "phones.3.7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10.transcript", Reason: "/object: its entry can't be read: nats: object not found",
		StoredAt: now.Add(-time.Duration(id) * time.Minute),
	}
	switch {
	case id%3 == 0:
		l.Reason, l.Subject = hostile, "phones.3.<b>x</b>.call"
	case id%5 == 0:
		l.Stream, l.Reason, l.State = uuid.NullUUID{}, "audit 1: its time is more than a day ahead", deadletter.Waiting
	}
	return l
}

// hour fills the history: a rise and a fall, a gap, and ages below a second at other times.
func hour(h *history, now time.Time, highest float64) {
	for at := now.Add(-window); at.Before(now); at = at.Add(defaultInterval) {
		minute := now.Sub(at).Minutes()
		distance := (minute - 4) / 7
		h.add(sample{
			at: at, seconds: 0.4 + 0.3*math.Sin(minute) + highest*math.Exp(-distance*distance),
			known: minute <= 38 || minute >= 41, // else PostgreSQL did not answer
		})
	}
}

func failedSnapshot(now time.Time) snapshot {
	s := problemSnapshot(now)
	s.readAt = now.Add(-74 * time.Second)
	s.failure = "failed to connect to `user=callboard_projector database=callboard`: 10.0.3.7:5432 (db): dial error: connection refused"
	return s
}

// newFixture returns a console with a snapshot, which is not read again.
func newFixture(t *testing.T, s snapshot) *Console {
	t.Helper()
	c := New(Config{Source: status.Source{Stream: events.StreamName}})
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
