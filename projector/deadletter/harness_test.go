package deadletter_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/deadletter"
	"callboard/projector/projectortest"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	schematest.RunAndFindLeaks(m, eventstest.IgnoreObjectStoreWatcher())
}

// harness adds the operator's database role and dead letters to the projector harness.
type harness struct {
	*projectortest.Harness
	operator *pgxpool.Pool
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	t.Parallel()
	h := &harness{Harness: projectortest.NewHarness(t, projectortest.WithPartitions(2))}
	h.operator = h.Database.RolePool(h, "callboard_operator")
	return h
}

func (h *harness) startProjector() (stop func()) {
	h.Helper()
	return h.StartProjector(func(c *projector.Config) { c.Tick = 500 * time.Millisecond })
}

// publishInvalid publishes a call without an identity, which becomes a dead letter.
func (h *harness) publishInvalid(system uuid.UUID) {
	h.Helper()
	h.PublishRaw(events.Subject(system, events.EntityCall), nil, "{}")
}

// insert inserts an open dead letter of the stream and returns its id.
func (h *harness) insert(reason string) int64 {
	h.Helper()
	return h.insertOf(uuid.NullUUID{UUID: h.StreamID(), Valid: true}, reason)
}

// otherStream is the identity of a stream that the projection is not built from.
func otherStream() uuid.NullUUID { return uuid.NullUUID{UUID: uuid.New(), Valid: true} }

// insertOf inserts an open dead letter of a stream; not valid: the stream of audit entries.
func (h *harness) insertOf(stream uuid.NullUUID, reason string) int64 {
	h.Helper()
	return h.QueryInt(`
		insert into control.dead_letter (stream, sequence, partition, subject, header, data, reason, stored_at)
		select $1, coalesce(max(sequence), 0) + 1, 0, 'a.subject', '', '{}', $2, now() from control.dead_letter
		returning id`, stream, reason)
}

// insertOfNextGeneration inserts a dead letter of a generation that is not live yet.
func (h *harness) insertOfNextGeneration() int64 {
	h.Helper()
	id := h.insert("x")
	h.Exec("update control.dead_letter set generation = (select max(id) + 1 from control.generation) where id = $1", id)
	return id
}

func (h *harness) list(q deadletter.Query) deadletter.Page {
	h.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	page, err := deadletter.List(h.Context(), h.operator, q)
	if err != nil {
		h.Fatal(err)
	}
	return page
}

func (h *harness) find(id int64) deadletter.Detail {
	h.Helper()
	detail, err := deadletter.Find(h.Context(), h.operator, id)
	if err != nil {
		h.Fatal(err)
	}
	return detail
}

// retrier returns a retrier with the operator's role.
func (h *harness) retrier() deadletter.Retrier {
	return deadletter.Retrier{Pool: h.operator, JetStream: h.JetStream, Stream: events.StreamName, OnPublished: func(int, int) {}}
}

// publishRetry publishes a retry of the only open dead letter and returns its id.
func (h *harness) publishRetry() int64 {
	h.Helper()
	retries, err := h.retrier().Retry(h.Context(), deadletter.Selection{})
	if err != nil || len(retries.Published) != 1 {
		h.Fatalf("retries = %+v, error = %v, want one published", retries, err)
	}
	return retries.Published[0]
}

// wait waits for one dead letter and returns its result.
func (h *harness) wait(id int64, timeout time.Duration) deadletter.Result {
	h.Helper()
	results, err := deadletter.Wait(h.Context(), h.operator, []int64{id}, timeout, func(int) {})
	if err != nil || len(results) != 1 || results[0].ID != id {
		h.Fatalf("results = %+v, error = %v, want one of dead letter %d", results, err, id)
	}
	return results[0]
}

// retry publishes retries, waits for them and returns the results by id.
func (h *harness) retry(s deadletter.Selection) map[int64]deadletter.Result {
	h.Helper()
	retries, err := h.retrier().Retry(h.Context(), s)
	if err != nil {
		h.Fatal(err)
	}
	results, err := deadletter.Wait(h.Context(), h.operator, retries.Published, time.Minute, func(int) {})
	if err != nil {
		h.Fatal(err)
	}
	byID := make(map[int64]deadletter.Result)
	for _, r := range append(results, retries.AlreadyResolved...) {
		byID[r.ID] = r
	}
	return byID
}

const transcriptText = `{"text":"hello","turns":[]}`

// transcriptInStore returns a transcript that refers to a text in the object store. The text is not stored.
func transcriptInStore(system, call uuid.UUID, text string) *events.Transcript {
	hash := sha256.New()
	hash.Write([]byte(text))
	return &events.Transcript{
		PhoneSystemID: system, CallID: events.Some(call), Version: 1, Status: events.TranscriptCompleted,
		Object: &events.Object{
			Bucket: events.TranscriptBucket, Name: "of-" + call.String(), Bytes: int64(len(text)), Digest: jetstream.GetObjectDigestValue(hash),
		},
	}
}

// store stores a text under the name that a transcript refers to.
func (h *harness) store(t *events.Transcript, text string) {
	h.Helper()
	bucket, err := h.JetStream.ObjectStore(h.Context(), events.TranscriptBucket)
	if err != nil {
		h.Fatal(err)
	}
	if _, err := bucket.PutString(h.Context(), t.Object.Name, text); err != nil {
		h.Fatal(err)
	}
}
