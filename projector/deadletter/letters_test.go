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
	"callboard/projector/deadletter"
)

const body = `{"text":"hello","turns":[]}`

// The texts of three transcripts come late: one is applied then, one is older than what is there by then, and one's call is gone.
// A call that is none stays what it is.
func TestRetry(t *testing.T) {
	s := newStage(t)
	s.start()
	system, calls := uuid.New(), []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	transcripts := make([]*events.Transcript, len(calls))
	for i, id := range calls {
		transcripts[i] = claimed(system, id, 1, body)
		s.publish(call(system, id), transcripts[i])
	}
	s.bad(system)
	s.caughtUp()
	page := s.list(deadletter.Query{})
	if len(page.Letters) != 4 || page.Open != 4 || page.More || page.Kinds[0] != (deadletter.Kind{Reason: "/object: its entry can't be had", Count: 3}) {
		t.Fatalf("%+v", page)
	}
	for _, l := range page.Letters[:3] {
		if l.State != deadletter.Open || l.Stream != "PHONES" || !l.StreamCreated.Equal(s.created()) || !strings.HasSuffix(l.Subject, ".transcript") {
			t.Errorf("%+v", l)
		}
	}
	again := claimed(system, calls[1], 2, "")
	again.Object, again.Text = nil, events.Some("newer")
	s.publish(again)
	deletion := events.Deleted(events.Identity{Entity: events.EntityCall, System: system, Key: calls[2].String(), Version: 2})
	if err := events.NewPublisher(s.js, "test").Publish(t.Context(), deletion); err != nil {
		t.Fatal(err)
	}
	s.caughtUp()
	for _, transcript := range transcripts {
		s.put(transcript, body)
	}
	var ids []int64
	for _, l := range page.Letters {
		ids = append(ids, l.ID)
	}
	results := s.retry(deadletter.Choice{IDs: ids})
	for i, want := range []deadletter.State{deadletter.Applied, deadletter.Stale, deadletter.Ignored, deadletter.Open} {
		if got := results[ids[i]]; got.State != want || got.Untouched || (got.Reason != "") != (want == deadletter.Open) {
			t.Errorf("letter %d: %+v, want %s", i, got, want)
		}
		if content := s.find(ids[i]); content.State != want || (content.ResolvedAt != nil) != want.Settled() || content.RetryRequestedAt != nil {
			t.Errorf("letter %d: %+v, want %s", i, content, want)
		}
	}
	if n := s.number("select count(*) from projection.transcript_text where text = 'hello'"); n != 1 {
		t.Errorf("%d transcripts have the late text", n)
	}
	if got := s.retry(deadletter.Choice{IDs: ids[:1]})[ids[0]]; got.State != deadletter.Applied || !got.Untouched {
		t.Errorf("once more: %+v", got)
	}
	if page := s.list(deadletter.Query{}); page.Open != 1 || len(page.Letters) != 1 || page.Letters[0].ID != ids[3] {
		t.Errorf("%+v", page)
	}
	if page := s.list(deadletter.Query{Settled: true, Limit: 3}); page.Open != 1 || len(page.Letters) != 3 || !page.More || page.Letters[0].ID != ids[0] {
		t.Errorf("%+v", page)
	}
}

func TestRetry_All(t *testing.T) {
	s := newStage(t)
	s.start()
	system, id := uuid.New(), uuid.New()
	late := claimed(system, id, 1, body)
	s.publish(call(system, id), late)
	s.bad(system)
	s.bad(system)
	s.caughtUp()
	s.put(late, body)
	request, err := deadletter.Retry(t.Context(), s.operator, deadletter.Choice{Reason: "no such reason"})
	if err != nil || len(request.Asked)+len(request.Settled)+len(request.Left) != 0 {
		t.Errorf("%+v, %v", request, err)
	}
	if results := s.retry(deadletter.Choice{Reason: "/object"}); len(results) != 1 {
		t.Errorf("%+v", results)
	}
	s.insert("AUDIT", "audit message: without an entry")
	s.insert("OTHER", "not JSON: it ends too early")
	request, err = deadletter.Retry(t.Context(), s.operator, deadletter.Choice{})
	left := map[deadletter.Obstacle]int{deadletter.ObstacleAudit: 1, deadletter.ObstacleStream: 1}
	if err != nil || len(request.Asked) != 2 || !reflect.DeepEqual(request.Left, left) {
		t.Errorf("%+v, %v", request, err)
	}
}

// A letter that is named in vain leaves all that are named with it as they are.
func TestRetry_Refused(t *testing.T) {
	s := newStage(t)
	s.start()
	s.bad(uuid.New())
	s.caughtUp()
	good := s.list(deadletter.Query{}).Letters[0].ID
	_, err := deadletter.Retry(t.Context(), s.operator, deadletter.Choice{IDs: []int64{good, 4711, 4712, 4711}})
	var unknown *deadletter.UnknownError
	if !errors.As(err, &unknown) || err.Error() != "no dead letter 4711, 4712" {
		t.Errorf("unknown: %v", err)
	}
	for obstacle, id := range map[deadletter.Obstacle]int64{
		deadletter.ObstacleAudit: s.insert("AUDIT", "x"), deadletter.ObstacleStream: s.insert("OTHER", "x"), deadletter.ObstacleGeneration: s.building(),
	} {
		_, err := deadletter.Retry(t.Context(), s.operator, deadletter.Choice{IDs: []int64{good, id}})
		var refusal *deadletter.ObstacleError
		if !errors.As(err, &refusal) || refusal.ID != id || refusal.Obstacle != obstacle || !strings.Contains(err.Error(), obstacle.Why()) {
			t.Errorf("%s: %v", obstacle, err)
		}
	}
	if n := s.number("select count(retry_requested_at) from control.dead_letter"); n != 0 {
		t.Errorf("%d letters wait", n)
	}
}

// building is a letter that is one only in a generation to come.
func (s *stage) building() int64 {
	s.Helper()
	id := s.insert("PHONES", "x")
	s.exec("update control.dead_letter set generation = (select id + 1 from projection.generation) where id = $1", id)
	return id
}

// Without a projector a letter waits, and says for what. The projector that comes tries it.
func TestAwait_NoProjector(t *testing.T) {
	s := newStage(t)
	stop := s.start()
	s.bad(uuid.New())
	s.caughtUp()
	stop()
	request, err := deadletter.Retry(t.Context(), s.operator, deadletter.Choice{})
	if err != nil || len(request.Asked) != 1 {
		t.Fatalf("%+v, %v", request, err)
	}
	polls := 0
	short := s.waiting(2 * time.Second)
	short.Heard = func(int) { polls++ }
	results, err := deadletter.Await(t.Context(), s.operator, request.Asked, short)
	if err != nil || len(results) != 1 || results[0].State != deadletter.Waiting || !strings.HasPrefix(results[0].Reason, "no projector has partition ") || polls < 2 {
		t.Errorf("%+v, %v after %d polls", results, err, polls)
	}
	if page := s.list(deadletter.Query{}); page.Waiting != 1 || page.Letters[0].State != deadletter.Waiting || page.Letters[0].RetryRequestedAt == nil {
		t.Errorf("%+v", page)
	}
	s.start()
	if results, err = deadletter.Await(t.Context(), s.operator, request.Asked, s.waiting(patience)); err != nil || results[0].State != deadletter.Open {
		t.Errorf("%+v, %v", results, err)
	}
}

// Nobody waits for a partition that can't go on, and its fault is named.
func TestAwait_Stopped(t *testing.T) {
	s := newStage(t)
	stop := s.start()
	s.bad(uuid.New())
	s.caughtUp()
	stop()
	s.exec("update projection.position set sequence = 1000")
	request, err := deadletter.Retry(t.Context(), s.operator, deadletter.Choice{})
	if err != nil || len(request.Asked) != 1 {
		t.Fatalf("%+v, %v", request, err)
	}
	results, err := deadletter.Await(t.Context(), s.operator, request.Asked, s.waiting(time.Hour))
	if err != nil || len(results) != 1 || results[0].State != deadletter.Waiting || !strings.Contains(results[0].Reason, "can't go on: STREAM_REGRESSED: ") {
		t.Errorf("%+v, %v", results, err)
	}
}

// A letter above the position of its partition isn't tried before the projector has come to it again.
func TestAwait_Behind(t *testing.T) {
	s := newStage(t)
	s.start()
	s.caughtUp()
	id := s.insert("PHONES", "x")
	s.exec("update control.dead_letter set sequence = 1000 where id = $1", id)
	if got, err := deadletter.Retry(t.Context(), s.operator, deadletter.Choice{IDs: []int64{id}}); err != nil || len(got.Asked) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	results, err := deadletter.Await(t.Context(), s.operator, []int64{id}, s.waiting(time.Millisecond))
	if err != nil || len(results) != 1 || !strings.Contains(results[0].Reason, "hasn't read so far") {
		t.Errorf("%+v, %v", results, err)
	}
	s.exec("delete from control.dead_letter where id = $1", id)
	if results, err = deadletter.Await(t.Context(), s.operator, []int64{id}, s.waiting(patience)); err != nil || results[0].State != deadletter.Gone {
		t.Errorf("%+v, %v", results, err)
	}
}

// What is dropped is forgotten but for its row: the ledger counts it, and a replay knows it although its text has come meanwhile.
func TestDrop(t *testing.T) {
	s := newStage(t)
	stop := s.start()
	system, id := uuid.New(), uuid.New()
	late := claimed(system, id, 1, body)
	s.publish(call(system, id), late)
	s.bad(system)
	s.caughtUp()
	open := s.list(deadletter.Query{}).Letters
	if _, err := deadletter.Drop(t.Context(), s.operator, deadletter.Choice{IDs: []int64{open[0].ID, 4711}}); err == nil || len(s.list(deadletter.Query{}).Letters) != 2 {
		t.Errorf("one is unknown: %v", err)
	}
	results, err := deadletter.Drop(t.Context(), s.operator, deadletter.Choice{Reason: "/object"})
	if err != nil || len(results) != 1 || results[0].ID != open[0].ID || results[0].State != deadletter.Dropped || results[0].Untouched {
		t.Fatalf("%+v, %v", results, err)
	}
	content := s.find(open[0].ID)
	if content.State != deadletter.Dropped || len(content.Data)+len(content.Wire) != 0 || content.ResolvedAt == nil || content.Reason == "" {
		t.Errorf("%+v", content)
	}
	s.put(late, body)
	if got := s.retry(deadletter.Choice{IDs: []int64{open[0].ID}})[open[0].ID]; got.State != deadletter.Dropped || !got.Untouched {
		t.Errorf("retried: %+v", got)
	}
	results, err = deadletter.Drop(t.Context(), s.operator, deadletter.Choice{IDs: []int64{open[0].ID}})
	if err != nil || len(results) != 1 || !results[0].Untouched {
		t.Errorf("dropped again: %+v, %v", results, err)
	}
	stop()

	kept := s.database.Projection(t)
	s.database.TruncateProjection(t)
	s.start()
	s.caughtUp()
	if list := s.database.Projection(t).Diff(kept); len(list) > 0 {
		t.Errorf("replayed and before:\n%s", strings.Join(list, "\n"))
	}
	if n := s.number("select sum(dead)::bigint from projection.message_count"); n != 2 {
		t.Errorf("the ledger counts %d as dead", n)
	}
	if n := len(s.find(open[0].ID).Data); n != 0 {
		t.Errorf("the replay brought %d bytes back", n)
	}
}

// Whoever drops a letter while a projector applies it comes too late, and is told so.
func TestDrop_TooLate(t *testing.T) {
	s := newStage(t)
	named, one := s.insert("PHONES", "named"), s.insert("PHONES", "one of all")
	for id, c := range map[int64]deadletter.Choice{named: {IDs: []int64{named}}, one: {Reason: "one of all"}} {
		results, err := s.dropLate(id, c)
		if err != nil || len(results) != len(c.IDs) {
			t.Errorf("%+v: %+v, %v", c, results, err)
		}
		for _, r := range results {
			if r.State != deadletter.Applied || !r.Untouched {
				t.Errorf("%+v", r)
			}
		}
		if n := len(s.find(id).Data); n == 0 {
			t.Error("the data is gone")
		}
	}
}

// dropLate drops letters while the one of them is being applied.
func (s *stage) dropLate(id int64, c deadletter.Choice) (results []deadletter.Result, err error) {
	s.Helper()
	applying, err := s.admin.Begin(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	_, err = applying.Exec(s.Context(), "update control.dead_letter set resolution = 'applied', resolved_at = now() where id = $1", id)
	if err != nil {
		s.Fatal(err)
	}
	var drop sync.WaitGroup
	drop.Go(func() { results, err = deadletter.Drop(s.Context(), s.operator, c) })
	s.await("it waits for the row", func() bool { return s.number("select count(*) from pg_locks where not granted") > 0 })
	if err := applying.Commit(s.Context()); err != nil {
		s.Fatal(err)
	}
	drop.Wait()
	return results, err
}

func TestFind(t *testing.T) {
	s := newStage(t)
	s.start()
	s.publish(claimed(uuid.New(), uuid.New(), 1, body))
	s.caughtUp()
	content := s.find(s.list(deadletter.Query{}).Letters[0].ID)
	if !slices.Equal(content.Header["ce-type"], []string{"callboard.transcript.changed"}) || !strings.Contains(string(content.Data), `"object":`) {
		t.Errorf("%+v: %s", content.Header, content.Data)
	}
	if !strings.Contains(content.Advice, "Once its publisher has put it there, a retry applies it.") {
		t.Errorf("%s", content.Advice)
	}
	s.exec("update control.dead_letter set header = 'nonsense'")
	if content := s.find(content.ID); content.Header != nil || string(content.Wire) != "nonsense" {
		t.Errorf("%+v", content)
	}
	var unknown *deadletter.UnknownError
	if _, err := deadletter.Find(t.Context(), s.operator, 4711); !errors.As(err, &unknown) {
		t.Errorf("unknown: %v", err)
	}
}

func TestList_Kinds(t *testing.T) {
	s := newStage(t)
	for _, reason := range []string{
		"/turns/3/speaker: is required; /version: is required", "/turns/14/speaker: is required",
		"/object: its entry can't be had: nats: object not found", "/object: its entry can't be had: nats: bucket not found",
		"not JSON: it ends too early", "/somebody's/name: not JSON: duplicate object member name",
		"must be an object", "must be an object",
		"PostgreSQL refused it: SQLSTATE 23514 (table call_log, column )", "PostgreSQL refused it: SQLSTATE 23514 (table call_log, column )",
		"entry " + uuid.NewString() + ": its time is more than 168h0m0s before that of its message, or 24h0m0s after",
		"entry " + uuid.NewString() + ": its time is more than 168h0m0s before that of its message, or 24h0m0s after",
		"audit entry: invalid character 'x' looking for beginning of value", "audit entry: invalid character 'x' looking for beginning of value",
		"subject: names another entity than the event's type",
	} {
		s.insert("PHONES", reason)
	}
	var kinds []string
	for i, k := range s.list(deadletter.Query{}).Kinds {
		if kinds = append(kinds, k.Reason); (k.Count == 2) != (i < 7) {
			t.Errorf("%+v", k)
		}
	}
	want := []string{
		"/object: its entry can't be had", "/turns/*/speaker: is required", "PostgreSQL refused it: SQLSTATE 23514 (table call_log, column )",
		"audit entry: invalid character 'x' looking for beginning of value",
		"entry: its time is more than 168h0m0s before that of its message, or 24h0m0s after", "must be an object", "not JSON",
		"subject: names another entity than the event's type",
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("%q", kinds)
	}
	if page := s.list(deadletter.Query{Reason: "speaker"}); page.Open != 2 || len(page.Letters) != 2 || len(page.Kinds) != 1 {
		t.Errorf("%+v", page)
	}
}
