package audit_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/audit"
	"callboard/projector/projectortest"
)

const queueSubject = "callboard.audit"

// createQueue creates the work queue of an earlier release.
func (h *harness) createQueue() jetstream.Stream {
	h.Helper()
	queue, err := h.JetStream.CreateStream(h.Context(), jetstream.StreamConfig{
		Name: audit.QueueName, Subjects: []string{queueSubject}, Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew,
		MaxBytes: 1 << 30, DenyDelete: true, DenyPurge: true,
	})
	if err != nil {
		h.Fatal(err)
	}
	return queue
}

func (h *harness) waitUntilEmpty(queue jetstream.Stream) {
	h.Helper()
	h.eventually("an empty queue", func() bool {
		info, err := queue.Info(h.Context())
		return err == nil && info.State.Msgs == 0
	})
}

// What the readers of an earlier release send is stored beside what the others send, also after the queue was emptied once.
func TestWriter_DrainsQueue(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	queue := h.createQueue()
	var want []uuid.UUID
	send := func(subject string, at time.Time) {
		e := newEntry(uuid.New(), at)
		h.PublishRaw(subject, nil, h.line(e))
		want = append(want, e.ID)
	}
	send(queueSubject, h.noon)
	send(audit.Subject, h.noon.Add(time.Second))
	bad := h.PublishRaw(queueSubject, nil, "hello")
	h.start()
	h.start()
	h.waitUntilEmpty(queue)
	send(queueSubject, h.noon.Add(2*time.Second))
	h.waitUntilEmpty(queue)
	h.waitUntilStored()
	h.requireIDs(want)
	got := projectortest.Query[int64](h.Harness, "select sequence from control.dead_letter where stream = 'AUDIT'")
	if !slices.Equal(got, []int64{int64(bad)}) {
		t.Errorf("dead letters of the queue = %v, want %d", got, bad)
	}
	left, err := audit.DeleteQueue(t.Context(), h.JetStream)
	if err != nil || left != 0 {
		t.Fatalf("messages left = %d, error = %v, want the queue deleted", left, err)
	}
	want = append(want, h.publishMany(1, h.noon.Add(time.Minute))...)
	h.waitUntilStored()
	h.requireIDs(want)
	h.requireNoOtherLines(`"sequence":` + strconv.FormatUint(bad, 10))
}
