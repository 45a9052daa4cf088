package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"callboard/events"
	"callboard/projector/ingest"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

// retry publishes a message of the stream again, as a retry of it. Changes are made to the copy.
func (e *env) retry(sequence uint64, changes ...func(*nats.Msg)) {
	e.t.Helper()
	stored, err := e.stream.GetMsg(e.t.Context(), sequence)
	if err != nil {
		e.t.Fatal(err)
	}
	subject, _ := events.PublishedSubject(stored.Subject)
	m := &nats.Msg{Subject: subject, Header: stored.Header, Data: stored.Data}
	m.Header.Del(nats.MsgIdHdr)
	m.Header.Set(events.RetryHeader, events.FormatRetry(sequence, events.TimeOf(stored.Time)))
	for _, change := range changes {
		change(m)
	}
	if _, err := e.js.PublishMsg(e.t.Context(), m); err != nil {
		e.t.Fatal(err)
	}
}

// deadLetters describes the dead letters in the order of the stream: sequence, state, tries and the retry.
func (e *env) deadLetters() string {
	e.t.Helper()
	return schematest.QueryOne[string](e.t, e.pool, `
		select coalesce(string_agg(concat_ws(' ', sequence, state, tries, retry_sequence), ', ' order by sequence), '') from control.dead_letter`)
}

func (e *env) expectLetters(step, want string) {
	e.t.Helper()
	if got := e.deadLetters(); got != want {
		e.t.Errorf("%s: dead letters = %s, want %s", step, got, want)
	}
}

const (
	refuse = "alter table projection.call_log add constraint refuse check (call_sid <> 'CArefused') not valid"
	accept = "alter table projection.call_log drop constraint refuse"
)

func TestApplier_RetryFailsThenIsApplied(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.exec(refuse)
	e.publish(call(uuid.New(), "CArefused"))
	e.apply()
	e.expectLetters("first try", "1 open 0")

	e.exec("update control.dead_letter set retried_at = now(), retry_sequence = 2")
	e.retry(1)
	e.apply()
	e.expectLetters("failed again", "1 open 1")
	check(t, "failed retries on record", e.queryInt(`select count(*) from control.dead_letter where failures @> '[{"sequence": 2}]' and failures->0->>'reason' like '%23514%'`), 1)

	e.exec(accept)
	e.retry(1)
	e.apply()
	e.expectLetters("applied", "1 applied 1 3")
	e.retry(1)
	e.apply()
	e.expectLetters("another retry", "1 applied 1 3")
	if got, want := e.counts()[events.EntityCall], (store.MessageCount{Read: 4, Applied: 1, Stale: 1, Dead: 2}); got != want {
		t.Errorf("message counts = %v, want %v", got, want)
	}
}

// A retry finds a later state of the same entity.
func TestApplier_RetryIsStale(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.exec(refuse)
	c := call(uuid.New(), "CArefused")
	e.publish(c)
	e.apply()
	c.Version, c.CallSid = 2, "CAlater"
	e.publish(c)
	e.exec(accept)
	e.retry(1)
	e.apply()
	e.expectLetters("retried", "1 stale 0 3")
	check(t, "calls as published later", e.queryInt("select count(*) from call_log where call_sid = 'CAlater'"), 1)
}

// A retry of a dead letter that is itself a copy of a message names the dead letter that it is a retry of.
func TestApplier_RetryOfUnknownRetry(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.exec(refuse)
	e.publish(call(uuid.New(), "CA1"), call(uuid.New(), "CArefused"))
	e.retry(2) // names a message that is no dead letter yet
	e.apply()
	e.expectLetters("not known when it was applied", "2 open 1")

	e.exec("delete from control.dead_letter")
	e.retry(2)
	e.apply()
	e.expectLetters("an ordinary message", "4 open 0")
	e.exec(accept)
	e.retry(4)
	e.apply()
	e.expectLetters("its retry", "4 applied 0 5")
}

// A message that names a dead letter without being its copy resolves nothing, and becomes a dead letter if it fails.
func TestApplier_FalseRetry(t *testing.T) {
	t.Parallel()
	system := uuid.New()
	for name, change := range map[string]func(*nats.Msg){
		"other data":     func(m *nats.Msg) { m.Data = []byte("[]") },
		"other subject":  func(m *nats.Msg) { m.Subject = events.Subject(system, events.EntityVoicemail) },
		"other sequence": func(m *nats.Msg) { setRetry(m, 7, 0) },
		"other time": func(m *nats.Msg) {
			sequence, at, _ := events.ParseRetry(m.Header)
			setRetry(m, sequence, at-1)
		},
		"no number": func(m *nats.Msg) { m.Header.Set(events.RetryHeader, "1' or true") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			e.publishInvalid(system)
			e.apply()
			e.retry(1, change)
			e.apply()
			e.expectLetters("false retry", "1 open 0, 2 open 0")
			check(t, "failed retries", e.queryInt("select count(*) from control.dead_letter where tries > 0"), 0)
		})
	}
}

func setRetry(m *nats.Msg, sequence uint64, at events.Time) {
	m.Header.Set(events.RetryHeader, events.FormatRetry(sequence, at))
}

// The retry of a dead letter that was dropped is an ordinary message.
func TestApplier_RetryOfDroppedDeadLetter(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.publishInvalid(uuid.New())
	e.apply()
	e.exec("update control.dead_letter set resolution = 'dropped', data = ''")
	e.retry(1)
	e.apply()
	e.expectLetters("retried", "1 dropped 0, 2 open 0")
}

// A projector that was set back decides nothing about dead letters again.
func TestApplier_ReplaysRetries(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.exec(refuse)
	start := e.applier.Position
	system := uuid.New()
	e.publish(call(system, "CArefused"))
	e.publishInvalid(system)
	e.apply()
	e.retry(1)
	e.retry(2)
	e.apply()
	e.exec(accept)
	e.retry(1)
	e.apply()
	const decided = "1 applied 1 5, 2 open 1"
	e.expectLetters("live", decided)
	counts := e.counts()[events.EntityCall]

	e.database.ClearProjection(t)
	position, err := e.applier.Store.Claim(t.Context(), start.Stream, 0)
	if err != nil {
		t.Fatal(err)
	}
	e.applier.Position, e.committed = position, nil
	if e.applier.Decoder.Decisions, err = e.applier.Store.Decisions(t.Context(), position); err != nil {
		t.Fatal(err)
	}
	e.apply()
	e.expectLetters("replayed", decided)
	if got := e.counts()[events.EntityCall]; got != counts {
		t.Errorf("message counts = %v, want %v", got, counts)
	}
	check(t, "calls", e.queryInt("select count(*) from call_log"), 1)
}

// Whatever is retried, in whatever order and batches: no message gets a second dead letter, a replay in one piece
// gives the same counts and clock, and it finds no message that it can't read.
func TestApplier_RetriesAtRandom(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	system := uuid.New()
	rapid.Check(t, func(r *rapid.T) {
		e.exec("alter table projection.call_log drop constraint if exists refuse")
		e.exec(refuse)
		from := e.applier.Position
		calls := make([]*events.Call, rapid.IntRange(1, 4).Draw(r, "calls"))
		for i := range calls {
			calls[i] = call(system, "CArefused")
		}
		e.publish(states(calls)...)
		first := e.lastSequence() - uint64(len(calls)) + 1
		e.apply()
		for step := range rapid.IntRange(1, 8).Draw(r, "steps") {
			i := rapid.IntRange(0, len(calls)-1).Draw(r, fmt.Sprint("call ", step))
			switch rapid.SampledFrom([]string{"retry", "retry", "newer", "accept", "apply"}).Draw(r, fmt.Sprint("step ", step)) {
			case "retry":
				e.retry(first + uint64(i))
			case "newer":
				newer := *calls[i]
				newer.Version, newer.CallSid = int64(step)+2, "CAnewer"
				e.publish(&newer)
			case "accept":
				e.exec("alter table projection.call_log drop constraint if exists refuse")
			case "apply":
				e.apply()
			}
		}
		e.apply()
		check(t, "dead letters", e.queryInt("select count(*) from control.dead_letter where sequence > $1", int64(from.Sequence)), int64(len(calls)))
		check(t, "waiting dead letters", e.queryInt("select count(*) from control.dead_letter where state = 'waiting'"), 0)
		e.checkReplay(from)
	})
}

func states(calls []*events.Call) (list []events.State) {
	for _, c := range calls {
		list = append(list, c)
	}
	return list
}

func (e *env) lastSequence() uint64 {
	e.t.Helper()
	info, err := e.stream.Info(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	return info.State.LastSeq
}

// checkReplay folds the messages above a position again and compares with what the applier has committed since.
func (e *env) checkReplay(from store.Position) {
	e.t.Helper()
	decisions, err := e.applier.Store.Decisions(e.t.Context(), from)
	if err != nil {
		e.t.Fatal(err)
	}
	decoder, folder := ingest.Decoder{Decisions: decisions}, newFolder(from, decisions)
	folder.apply(decoder.Decode(e.messages(from.Sequence)))
	want := store.MessageCounts{}
	for _, c := range e.committed {
		if c.From.Sequence >= from.Sequence {
			addCounts(want, c.MessageCounts)
		}
	}
	got := folder.Changes
	if fmt.Sprint(got.MessageCounts) != fmt.Sprint(want) || got.To.Clock.Now != e.applier.Position.Clock.Now {
		e.t.Errorf("replay: counts = %v, clock = %v, want %v, %v", got.MessageCounts, got.To.Clock.Now, want, e.applier.Position.Clock.Now)
	}
	if n := len(got.DeadLetters); n > 0 {
		e.t.Errorf("unreadable messages = %d, want 0: %s", n, strings.TrimSpace(got.DeadLetters[0].Reason))
	}
	for row := range got.State.CallLogs.Rows() {
		check(e.t, "call "+row.ID.String()+" as replayed", e.queryInt(
			"select count(*) from call_log where id = $1 and call_sid = $2 and updated_at = $3", row.ID, row.CallSid, row.UpdatedAt.Std()), 1)
	}
}
