package deadletter_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/deadletter"
	"callboard/projector/projectortest"
	"callboard/schema/schematest"
)

// Three transcripts are published before their texts are stored. Until the retry the second gets a newer version
// and the call of the third is deleted. The fourth dead letter is an invalid event.
func TestRetry(t *testing.T) {
	h := newHarness(t)
	h.startProjector()
	system, calls := uuid.New(), []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	transcripts := make([]*events.Transcript, len(calls))
	for i, id := range calls {
		transcripts[i] = transcriptInStore(system, id, transcriptText)
		h.PublishStates(projectortest.Call(system, id), transcripts[i])
	}
	h.publishInvalid(system)
	h.WaitUntilCaughtUp()
	page := h.list(deadletter.Query{})
	if want := (deadletter.ReasonCount{Reason: "/object: its entry can't be read", Count: 3}); len(page.DeadLetters) != 4 || page.Open != 4 || page.More || page.Reasons[0] != want {
		t.Fatalf("page = %+v, want 4 open, first reason %+v", page, want)
	}
	for _, l := range page.DeadLetters[:3] {
		if l.State != deadletter.Open || l.Stream.UUID != h.StreamID() || !strings.HasSuffix(l.Subject, ".transcript") {
			t.Errorf("dead letter = %+v, want an open transcript of the stream", l)
		}
	}
	newer := transcriptInStore(system, calls[1], "")
	newer.Version, newer.Object, newer.Text = 2, nil, events.Some("newer")
	h.PublishStates(newer)
	h.Publish(events.Deleted(events.Identity{Entity: events.EntityCall, System: system, Key: calls[2].String(), Version: 2}))
	h.WaitUntilCaughtUp()
	for _, transcript := range transcripts {
		h.store(transcript, transcriptText)
	}
	var ids []int64
	for _, l := range page.DeadLetters {
		ids = append(ids, l.ID)
	}
	results := h.retry(deadletter.Selection{IDs: ids})
	for i, want := range []deadletter.State{deadletter.Applied, deadletter.Stale, deadletter.Ignored, deadletter.Open} {
		if got := results[ids[i]]; got.State != want || got.AlreadyResolved || (got.Reason != "") != (want == deadletter.Open) {
			t.Errorf("dead letter %d: result = %+v, want state %s", i, got, want)
		}
		if got := h.find(ids[i]); got.State != want || (got.ResolvedAt != nil) != want.Resolved() || got.RetriedAt != nil {
			t.Errorf("dead letter %d: detail = %+v, want state %s", i, got, want)
		}
	}
	if n := h.QueryInt("select count(*) from projection.transcript_text where text = 'hello'"); n != 1 {
		t.Errorf("transcripts with the stored text = %d, want 1", n)
	}
	if got := h.retry(deadletter.Selection{IDs: ids[:1]})[ids[0]]; got.State != deadletter.Applied || !got.AlreadyResolved {
		t.Errorf("second retry: result = %+v, want applied, already resolved", got)
	}
	if page := h.list(deadletter.Query{}); page.Open != 1 || len(page.DeadLetters) != 1 || page.DeadLetters[0].ID != ids[3] {
		t.Errorf("open: page = %+v, want dead letter %d alone", page, ids[3])
	}
	if page := h.list(deadletter.Query{Resolved: true, Limit: 3}); page.Open != 1 || len(page.DeadLetters) != 3 || !page.More || page.DeadLetters[0].ID != ids[0] {
		t.Errorf("all: page = %+v, want 3 of 4, the first %d", page, ids[0])
	}
}

// All that can be retried are, and the others are counted by why they can't be.
func TestRetry_All(t *testing.T) {
	h := newHarness(t)
	h.startProjector()
	h.publishInvalid(uuid.New())
	h.publishInvalid(uuid.New())
	h.WaitUntilCaughtUp()
	h.insertOf(uuid.NullUUID{}, "audit message: no entries")
	h.insertOf(uuid.NullUUID{}, "audit message: no entries")
	h.insertOf(otherStream(), "not JSON: it ends too early")
	h.insert("of another subject")
	retries, err := h.retrier().Retry(t.Context(), deadletter.Selection{})
	want := map[deadletter.NotRetryableReason]int{
		deadletter.NotRetryableAudit: 2, deadletter.NotRetryableStream: 1, deadletter.NotRetryableMessage: 1,
	}
	if err != nil || len(retries.Published) != 2 || !reflect.DeepEqual(retries.NotRetryable, want) {
		t.Errorf("retries = %+v, error = %v, want 2 published, not retryable %v", retries, err, want)
	}
}

// One id that can't be retried leaves all dead letters that were named with it unchanged.
func TestRetry_RefusesSelection(t *testing.T) {
	schematest.NeedOneServer(t, "the test's statement needs one server")
	h := newHarness(t)
	h.startProjector()
	h.publishInvalid(uuid.New())
	h.WaitUntilCaughtUp()
	retryable := h.list(deadletter.Query{}).DeadLetters[0].ID
	_, err := h.retrier().Retry(t.Context(), deadletter.Selection{IDs: []int64{retryable, 4711, 4712, 4711}})
	var unknown *deadletter.UnknownError
	if !errors.As(err, &unknown) || !slices.Equal(unknown.IDs, []int64{4711, 4712}) {
		t.Errorf("unknown ids: error = %v, want 4711 and 4712", err)
	}
	for reason, id := range map[deadletter.NotRetryableReason]int64{
		deadletter.NotRetryableAudit: h.insertOf(uuid.NullUUID{}, "x"), deadletter.NotRetryableStream: h.insertOf(otherStream(), "x"),
		deadletter.NotRetryableGeneration: h.insertOfNextGeneration(),
	} {
		_, err := h.retrier().Retry(t.Context(), deadletter.Selection{IDs: []int64{retryable, id}})
		var refusal *deadletter.NotRetryableError
		if !errors.As(err, &refusal) || refusal.ID != id || refusal.Reason != reason || !strings.Contains(err.Error(), reason.Text()) {
			t.Errorf("%s: error = %v, want a NotRetryableError of %d", reason, err, id)
		}
	}
	if n := h.QueryInt("select count(retried_at) from control.dead_letter"); n != 0 {
		t.Errorf("waiting dead letters = %d, want 0", n)
	}
}

// A dead letter of a partition without an owner waits, and the next projector retries it.
func TestWait_NoProjector(t *testing.T) {
	h := newHarness(t)
	stop := h.startProjector()
	h.publishInvalid(uuid.New())
	h.WaitUntilCaughtUp()
	stop()
	eventstest.Eventually(t, "no partition has an owner", func() bool { return h.QueryInt("select count(*) from control.partition_owner") == 0 })
	id := h.publishRetry()
	if got := h.wait(id, time.Second); got.State != deadletter.Waiting || !strings.Contains(got.Reason, "callboard status") {
		t.Errorf("result = %+v, want waiting for a projector", got)
	}
	if page := h.list(deadletter.Query{}); page.Waiting != 1 || page.DeadLetters[0].State != deadletter.Waiting || page.DeadLetters[0].RetriedAt == nil {
		t.Errorf("page = %+v, want one waiting", page)
	}
	h.startProjector()
	if got := h.wait(id, time.Minute); got.State != deadletter.Open {
		t.Errorf("result = %+v, want open", got)
	}
}

// A retry is waited for until the position has passed it. One that was passed without a decision, since a rebuild
// applied it, is published again.
func TestWait_Position(t *testing.T) {
	h := newHarness(t)
	h.startProjector()
	h.publishInvalid(uuid.New())
	h.WaitUntilCaughtUp()
	id := h.list(deadletter.Query{}).DeadLetters[0].ID
	h.Exec("update control.dead_letter set retried_at = now(), retry_sequence = 1000000000")
	h.publishRetry()
	if got := h.wait(id, time.Millisecond); got.State != deadletter.Waiting {
		t.Errorf("result = %+v, want waiting", got)
	}
	h.Exec("update control.dead_letter set retry_sequence = 1")
	if got := h.retry(deadletter.Selection{})[id]; got.State != deadletter.Open || h.find(id).Tries != 1 {
		t.Errorf("result = %+v, tries = %d, want open after 1 try", got, h.find(id).Tries)
	}
	h.Exec("delete from control.dead_letter where id = $1", id)
	if got := h.wait(id, time.Minute); got.State != deadletter.Gone {
		t.Errorf("result = %+v, want gone", got)
	}
}

// A dropped dead letter keeps its row: it counts as dead, and a replay does not apply it although its text was
// stored meanwhile.
func TestDrop(t *testing.T) {
	h := newHarness(t)
	stop := h.startProjector()
	system, id := uuid.New(), uuid.New()
	transcript := transcriptInStore(system, id, transcriptText)
	h.PublishStates(projectortest.Call(system, id), transcript)
	h.publishInvalid(system)
	h.WaitUntilCaughtUp()
	open := h.list(deadletter.Query{}).DeadLetters
	if _, err := deadletter.Drop(t.Context(), h.operator, deadletter.Selection{IDs: []int64{open[0].ID, 4711}}); err == nil || len(h.list(deadletter.Query{}).DeadLetters) != 2 {
		t.Errorf("one id unknown: error = %v, want one, and nothing dropped", err)
	}
	results, err := deadletter.Drop(t.Context(), h.operator, deadletter.Selection{IDs: []int64{open[0].ID}})
	if err != nil || len(results) != 1 || results[0].ID != open[0].ID || results[0].State != deadletter.Dropped || results[0].AlreadyResolved {
		t.Fatalf("results = %+v, error = %v, want dead letter %d dropped", results, err, open[0].ID)
	}
	if got := h.find(open[0].ID); got.State != deadletter.Dropped || len(got.Data)+len(got.RawHeader) != 0 || got.ResolvedAt == nil || got.Reason == "" {
		t.Errorf("detail = %+v, want it dropped, without data and headers", got)
	}
	h.store(transcript, transcriptText)
	if got := h.retry(deadletter.Selection{IDs: []int64{open[0].ID}})[open[0].ID]; got.State != deadletter.Dropped || !got.AlreadyResolved {
		t.Errorf("retry: result = %+v, want dropped, already resolved", got)
	}
	results, err = deadletter.Drop(t.Context(), h.operator, deadletter.Selection{IDs: []int64{open[0].ID}})
	if err != nil || len(results) != 1 || !results[0].AlreadyResolved {
		t.Errorf("second drop: results = %+v, error = %v, want already resolved", results, err)
	}
	stop()

	h.RequireReplayEquals(h.Database.Projection(t))
	if n := h.QueryInt("select sum(dead)::bigint from projection.message_count"); n != 2 {
		t.Errorf("messages counted as dead = %d, want 2", n)
	}
	if n := len(h.find(open[0].ID).Data); n != 0 {
		t.Errorf("data after the replay = %d bytes, want 0", n)
	}
}

// A drop is on the disk when it is acknowledged, whatever the default of the database is.
func TestDrop_CommitsDurably(t *testing.T) {
	h := newHarness(t)
	id := h.insert("a reason")
	levels := h.Database.CommitLevels(t, "control.dead_letter")
	if _, err := deadletter.Drop(t.Context(), h.Database.RolePool(h, "callboard_operator"), deadletter.Selection{IDs: []int64{id}}); err != nil {
		t.Fatal(err)
	}
	if got := levels(); !slices.Equal(got, []string{"on"}) {
		t.Errorf("synchronous_commit = %v, want on", got)
	}
}

// A drop that waits for the row lock of a retry that applies the dead letter reports it as applied and keeps its data.
func TestDrop_WhileRetryApplies(t *testing.T) {
	h := newHarness(t)
	byID, all := h.insert("by id"), h.insert("as one of all")
	for _, test := range []struct {
		id int64
		s  deadletter.Selection
	}{{byID, deadletter.Selection{IDs: []int64{byID}}}, {all, deadletter.Selection{}}} {
		id, s := test.id, test.s
		results, err := h.dropWhileApplied(id, s)
		if err != nil || len(results) != len(s.IDs) {
			t.Errorf("%+v: results = %+v, error = %v, want %d results", s, results, err, len(s.IDs))
		}
		for _, r := range results {
			if r.State != deadletter.Applied || !r.AlreadyResolved {
				t.Errorf("%+v: result = %+v, want applied, already resolved", s, r)
			}
		}
		if n := len(h.find(id).Data); n == 0 {
			t.Errorf("%+v: the data was deleted", s)
		}
	}
}

// dropWhileApplied drops a selection while a transaction that resolves the dead letter is open, and commits that
// transaction.
func (h *harness) dropWhileApplied(id int64, s deadletter.Selection) (results []deadletter.Result, err error) {
	h.Helper()
	applying, err := h.Pool.Begin(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	schematest.Exec(h, applying, "update control.dead_letter set resolution = 'applied', resolved_at = now() where id = $1", id)
	var drop sync.WaitGroup
	drop.Go(func() { results, err = deadletter.Drop(h.Context(), h.operator, s) })
	eventstest.Eventually(h, "the drop waits for the row lock", func() bool {
		return h.QueryInt("select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()") > 0
	})
	if err := applying.Commit(h.Context()); err != nil {
		h.Fatal(err)
	}
	drop.Wait()
	return results, err
}

func TestFind(t *testing.T) {
	h := newHarness(t)
	h.startProjector()
	h.Apply(transcriptInStore(uuid.New(), uuid.New(), transcriptText))
	got := h.find(h.list(deadletter.Query{}).DeadLetters[0].ID)
	if !slices.Equal(got.Header["ce-type"], []string{"callboard.transcript.changed"}) || !strings.Contains(string(got.Data), `"object":`) {
		t.Errorf("header = %v, data = %s, want those of the transcript's event", got.Header, got.Data)
	}
	if want := "a retry applies the event"; !strings.Contains(got.Advice, want) {
		t.Errorf("advice = %q, want it to contain %q", got.Advice, want)
	}
	h.Exec("update control.dead_letter set header = 'nonsense'")
	if got := h.find(got.ID); got.Header != nil || string(got.RawHeader) != "nonsense" {
		t.Errorf("header = %v, raw header = %q, want only the raw one", got.Header, got.RawHeader)
	}
	var unknown *deadletter.UnknownError
	if _, err := deadletter.Find(t.Context(), h.operator, 4711); !errors.As(err, &unknown) {
		t.Errorf("unknown id: error = %v, want an UnknownError", err)
	}
}

func TestList_SummarizesReasons(t *testing.T) {
	h := newHarness(t)
	for _, reason := range []string{
		"/turns/3/speaker: is required; /version: is required", "/turns/14/speaker: is required",
		"/object: its entry can't be read: nats: object not found", "/object: its entry can't be read: nats: bucket not found",
		"not JSON: it ends too early", "/somebody's/name: not JSON: duplicate object member name",
		"must be an object", "must be an object",
		"PostgreSQL refused it: SQLSTATE 23514 (table call_log, column )", "PostgreSQL refused it: SQLSTATE 23514 (table call_log, column )",
		"entry " + uuid.NewString() + ": its time is more than 168h0m0s before that of its message, or 24h0m0s after",
		"entry " + uuid.NewString() + ": its time is more than 168h0m0s before that of its message, or 24h0m0s after",
		"audit entry: invalid character 'x' looking for beginning of value", "audit entry: invalid character 'x' looking for beginning of value",
		"subject: names another entity than the event's type",
	} {
		h.insert(reason)
	}
	want := []deadletter.ReasonCount{
		{Reason: "/object: its entry can't be read", Count: 2},
		{Reason: "/turns/*/speaker: is required", Count: 2},
		{Reason: "PostgreSQL refused it: SQLSTATE 23514 (table call_log, column )", Count: 2},
		{Reason: "audit entry: invalid character 'x' looking for beginning of value", Count: 2},
		{Reason: "entry *: its time is more than 168h0m0s before that of its message, or 24h0m0s after", Count: 2},
		{Reason: "must be an object", Count: 2},
		{Reason: "/somebody's/name: not JSON", Count: 1},
		{Reason: "not JSON: it ends too early", Count: 1},
		{Reason: "subject: names another entity than the event's type", Count: 1},
	}
	if got := h.list(deadletter.Query{}).Reasons; !slices.Equal(got, want) {
		t.Errorf("reasons = %+v, want %+v", got, want)
	}
}

// The projector's own role reads the newest open ones first, and of each only the beginning.
func TestNewest(t *testing.T) {
	h := newHarness(t)
	ids := make([]int64, 4)
	for i := range ids {
		ids[i] = h.insert("/number: a")
	}
	resolved := h.insert("resolved")
	h.Exec("update control.dead_letter set resolution = 'dropped' where id = $1", resolved)
	h.insertOfNextGeneration()
	h.Exec("update control.dead_letter set subject = repeat('z', 5000), reason = repeat('é', 5000), retried_at = now() where id = $1", ids[3])
	list, err := deadletter.Newest(t.Context(), h.Database.RolePool(h, "callboard_projector"), 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 3 || list[0].ID != ids[3] || list[1].ID != ids[2] || list[2].ID != ids[1] {
		t.Fatalf("dead letters = %+v, want the newest 3 of 4", list)
	}
	if l := list[0]; len(l.Subject) != 500 || len(l.Reason) != 2*1000 || l.State != deadletter.Waiting {
		t.Errorf("dead letter = %+v, want the beginning of its texts, and that it waits", l)
	}
}
