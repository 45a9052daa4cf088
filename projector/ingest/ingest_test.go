package ingest_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/fold"
	"callboard/projector/ingest"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	eventstest.CheckCases(40)
	schematest.RunAndFindLeaks(m, eventstest.IgnoreObjectStoreWatcher())
}

// env is a stream with one partition, a database and an applier between them.
type env struct {
	t         *testing.T
	js        jetstream.JetStream
	stream    jetstream.Stream
	publisher *events.Publisher
	database  *schematest.Database
	owner     *pgxpool.Pool // of the schemas
	pool      *pgxpool.Pool
	applier   *ingest.Applier
	committed []store.ChangeSet
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{t: t, js: eventstest.JetStream(t, eventstest.NewServer(t).URL()), database: schematest.New(t)}
	e.stream = eventstest.CreateStream(t, e.js, 1)
	e.publisher = events.NewPublisher(e.js, "test", events.MaxMessage(2000))
	e.owner = e.database.Pool(t)
	e.pool = e.database.ProjectorPool(t)
	s := store.New(e.pool)
	e.applier = &ingest.Applier{
		JetStream: e.js, Store: s, Position: claim(t, s, e.stream),
		OnCommit: func(c store.ChangeSet) { e.committed = append(e.committed, c) },
	}
	return e
}

// claim claims the only partition of a stream.
func claim(t *testing.T, s *store.Store, stream jetstream.Stream) store.Position {
	t.Helper()
	id, err := events.StreamID(stream.CachedInfo().Config)
	if err != nil {
		t.Fatal(err)
	}
	position, err := s.Claim(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	return position
}

func (e *env) publish(states ...events.State) {
	e.t.Helper()
	for _, state := range states {
		if err := e.publisher.Publish(e.t.Context(), events.Changed(state)); err != nil {
			e.t.Fatal(err)
		}
	}
}

func (e *env) publishInvalid(system uuid.UUID) {
	e.t.Helper()
	m := &nats.Msg{Subject: events.Subject(system, events.EntityCall), Header: nats.Header{"x": {"y"}}, Data: []byte("{}")}
	if _, err := e.js.PublishMsg(e.t.Context(), m); err != nil {
		e.t.Fatal(err)
	}
}

// messages returns all messages above a sequence.
func (e *env) messages(above uint64) []events.StoredMessage {
	e.t.Helper()
	consumer, err := e.stream.CreateConsumer(e.t.Context(), jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: above + 1, AckPolicy: jetstream.AckNonePolicy,
		InactiveThreshold: time.Hour,
	})
	if err != nil {
		e.t.Fatal(err)
	}
	info, err := e.stream.Info(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	var list []events.StoredMessage
	for uint64(len(list)) < info.State.LastSeq-above {
		m, err := consumer.Next(jetstream.FetchMaxWait(30 * time.Second))
		if err != nil {
			e.t.Fatal(err)
		}
		meta, err := m.Metadata()
		if err != nil {
			e.t.Fatal(err)
		}
		list = append(list, events.StoredMessage{
			Message: events.Message{Subject: m.Subject(), Header: m.Headers(), Data: m.Data()}, Sequence: meta.Sequence.Stream, StoredAt: meta.Timestamp,
		})
	}
	return list
}

// apply applies all messages above the position.
func (e *env) apply() (decoded []ingest.Decoded) {
	e.t.Helper()
	decoded = e.applier.Decoder.Decode(e.messages(e.applier.Position.Sequence))
	if err := e.applier.Apply(e.t.Context(), decoded, time.Now()); err != nil {
		e.t.Fatal(err)
	}
	return decoded
}

// addCounts adds counts to a sum.
func addCounts(sum, counts store.MessageCounts) {
	for entity, n := range counts {
		s := sum[entity]
		s.Read += n.Read
		s.Applied += n.Applied
		s.Stale += n.Stale
		s.Conflicting += n.Conflicting
		s.Ignored += n.Ignored
		s.Dead += n.Dead
		sum[entity] = s
	}
}

// counts returns the message counts of all commits so far.
func (e *env) counts() store.MessageCounts {
	counts := store.MessageCounts{}
	for _, c := range e.committed {
		addCounts(counts, c.MessageCounts)
	}
	return counts
}

func (e *env) exec(sql string) {
	e.t.Helper()
	schematest.Exec(e.t, e.owner, sql)
}

func (e *env) queryInt(sql string, arguments ...any) int64 {
	e.t.Helper()
	return schematest.QueryOne[int64](e.t, e.pool, sql, arguments...)
}

func call(system uuid.UUID, sid string) *events.Call {
	return &events.Call{
		ID: uuid.New(), PhoneSystemID: system, Version: 1, CallSid: sid, Direction: "inbound", Status: "completed",
		From: events.Some("+14155550123"), To: events.Some("+14155550100"), CreatedAt: events.TimeOf(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)),
	}
}

func check(t *testing.T, what string, got, want int64) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %d, want %d", what, got, want)
	}
}

func TestApplier_CountsEveryMessageByItsOutcome(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	system := uuid.New()
	deleted := call(system, "CA1")
	e.publish(deleted, deleted)
	if err := e.publisher.Publish(t.Context(), events.Deleted(events.Identity{
		Entity: events.EntityCall, System: system, Key: deleted.ID.String(), Version: 2,
	})); err != nil {
		t.Fatal(err)
	}
	late := *deleted
	late.Version = 3
	e.publish(&late)
	e.publishInvalid(system)
	e.apply()
	want := store.MessageCount{Read: 5, Applied: 2, Stale: 1, Ignored: 1, Dead: 1}
	if got := e.counts()[events.EntityCall]; got != want {
		t.Errorf("message counts = %v, want %v", got, want)
	}
	check(t, "sequence of the position", int64(e.applier.Position.Sequence), 5)
	check(t, "messages read in message_count", e.queryInt("select sum(read)::bigint from message_count"), 5)
	check(t, "dead letters", e.queryInt("select count(*) from control.dead_letter where state = 'open' and sequence = 5 and data = '{}'"), 1)
}

// Events with the applied version and other content are stale and counted as conflicting. The same content is not:
// what the database has loaded is compared with what the events make.
func TestApplier_CountsConflicts(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	system := uuid.New()
	first := call(system, "CA1")
	edited := *first
	edited.Status = "busy"
	e.publish(first)
	e.apply()
	e.publish(first, &edited)
	e.apply()
	want := store.MessageCount{Read: 3, Applied: 1, Stale: 2, Conflicting: 1}
	if got := e.counts()[events.EntityCall]; got != want {
		t.Errorf("message counts = %v, want %v", got, want)
	}
}

func TestApplier_BisectsABatchToTheMessageAtFault(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.exec("alter table projection.call_log add check (call_sid <> 'CArefused')")
	system := uuid.New()
	for i := range 9 {
		sid := "CA"
		if i == 4 {
			sid = "CArefused"
		}
		e.publish(call(system, sid))
	}
	e.apply()
	check(t, "calls", e.queryInt("select count(*) from call_log"), 8)
	check(t, "dead letters of the refused message",
		e.queryInt("select count(*) from control.dead_letter where sequence = 5 and reason like '%SQLSTATE 23514%'"), 1)
}

// A message that PostgreSQL refuses for another reason than its data is no dead letter. The messages before it are
// applied.
func TestApplier_StopsBeforeARefusedMessage(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.exec(`
		create function projection.refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
		create trigger refuse before insert on projection.call_log for each row when (new.call_sid = 'CArefused')
		execute function projection.refuse()`)
	system := uuid.New()
	for _, sid := range []string{"CA", "CA", "CA", "CArefused", "CA"} {
		e.publish(call(system, sid))
	}
	decoded := e.applier.Decoder.Decode(e.messages(0))
	if err := e.applier.Apply(t.Context(), decoded, time.Now()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Apply = %v, want PostgreSQL's error", err)
	}
	check(t, "calls", e.queryInt("select count(*) from call_log"), 3)
	check(t, "sequence of the position", e.queryInt("select sequence from position where partition = 0"), 3)
	check(t, "dead letters", e.queryInt("select count(*) from control.dead_letter"), 0)
}

// Without NATS the messages before the first claim check are applied.
func TestApplier_WaitsForClaimChecks(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	system := uuid.New()
	first := call(system, "CA1")
	e.publish(first, &events.Transcript{
		PhoneSystemID: system, CallID: events.Some(first.ID), Version: 1, Status: events.TranscriptCompleted,
		Text: events.Some(strings.Repeat("So it goes. ", 1000)),
	}, call(system, "CA2"))
	decoded := e.applier.Decoder.Decode(e.messages(0))
	js := e.applier.JetStream
	e.applier.JetStream = closedJetStream(t, js.Conn().ConnectedUrl())
	if err := e.applier.Apply(t.Context(), decoded, time.Now()); err == nil {
		t.Error("Apply without NATS: no error, want one")
	}
	check(t, "sequence of the position", e.queryInt("select sequence from position where partition = 0"), 1)

	e.applier.JetStream = js
	e.apply()
	check(t, "transcripts", e.queryInt("select count(*) from transcript_text"), 1)
	check(t, "calls", e.queryInt("select count(*) from call_log"), 2)
}

func closedJetStream(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(eventstest.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	js.Conn().Close()
	return js
}

func TestApplier_FetchesClaimChecks(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	system := uuid.New()
	c := call(system, "CA1")
	long := strings.Repeat("So it goes. ", 1000)
	transcript := func() *events.Transcript {
		return &events.Transcript{
			PhoneSystemID: system, CallID: events.Some(c.ID), Version: 1, Status: events.TranscriptCompleted, Text: events.Some(long),
		}
	}
	e.publish(c, transcript())
	decoded := e.apply()
	check(t, "stored transcripts", e.queryInt("select count(*) from transcript_text where text = $1", long), 1)
	if decoded[1].Event.State.(*events.Transcript).Text.Valid {
		t.Error("the text is in memory after it was stored")
	}

	// A claim check whose object is gone makes a dead letter, and the messages after it are applied.
	next := transcript()
	next.Version, next.Text = 2, events.Some(long+long)
	e.publish(next)
	bucket, err := e.js.ObjectStore(t.Context(), events.BucketConfig(1).Bucket)
	if err != nil {
		t.Fatal(err)
	}
	var message struct {
		Object struct {
			Name string `json:"name"`
		} `json:"object"`
	}
	if err := json.Unmarshal(e.messages(2)[0].Data, &message); err != nil {
		t.Fatal(err)
	}
	if err := bucket.Delete(t.Context(), message.Object.Name); err != nil {
		t.Fatal(err)
	}
	e.publish(call(system, "CA2"))
	e.apply()
	check(t, "dead letters", e.queryInt("select count(*) from control.dead_letter where sequence = 3 and reason like '/object%'"), 1)
	check(t, "calls", e.queryInt("select count(*) from call_log"), 2)
}

// What was decided at the first application is not decided again: a dead letter and a retry that failed stay dead,
// although they could be applied now.
func TestFold_RepeatsRecordedDecisions(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.exec("alter table projection.call_log add constraint refuse check (call_sid not in ('CAdead', 'CAretried'))")
	system := uuid.New()
	start := e.applier.Position
	e.publish(call(system, "CAdead"), call(system, "CAretried"), call(system, "CA3"))
	e.apply()
	e.retry(1)
	e.apply()
	e.exec("alter table projection.call_log drop constraint refuse")
	e.retry(2)
	e.publish(call(system, "CA4"))
	e.apply()

	decisions, err := e.applier.Store.Decisions(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	decoder, folder := ingest.Decoder{Decisions: decisions}, newFolder(start, decisions)
	decoded := decoder.Decode(e.messages(0))
	folder.apply(decoded)
	got := map[string]events.Time{}
	for row := range folder.Changes.State.CallLogs.Rows() {
		got[row.CallSid] = row.UpdatedAt
	}
	if len(got) != 3 || got["CAdead"] != 0 {
		t.Errorf("calls = %v, want CAretried, CA3 and CA4", got)
	}
	for sid, at := range got {
		check(t, sid+" at the same time in the tables", e.queryInt("select count(*) from call_log where call_sid = $1 and updated_at = $2", sid, at.Std()), 1)
	}
	if got, want := folder.Changes.To.Clock.Now, e.applier.Position.Clock.Now; got != want {
		t.Errorf("clock = %v, want %v", got, want)
	}
	if unreadable := folder.Changes.DeadLetters; len(unreadable) != 0 {
		t.Errorf("unreadable = %v, want none", unreadable)
	}
}

// folder folds messages in memory, as a replay does that repeats what is on record.
type folder struct {
	decisions store.Decisions
	Changes   store.ChangeSet
}

func newFolder(from store.Position, decisions store.Decisions) *folder {
	return &folder{decisions, store.ChangeSet{From: from, To: from, State: new(fold.State), MessageCounts: store.MessageCounts{}}}
}

func (f *folder) apply(decoded []ingest.Decoded) {
	c := ingest.Fold(f.Changes.State, f.Changes.To, decoded, f.decisions, nil, 0)
	f.Changes.To = c.To
	addCounts(f.Changes.MessageCounts, c.MessageCounts)
	f.Changes.DeadLetters = append(f.Changes.DeadLetters, slices.DeleteFunc(c.DeadLetters, f.decisions.HasDeadLetter)...)
}

func TestCheckPosition(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	system := uuid.New()
	e.publish(call(system, "CA1"), call(system, "CA2"), call(system, "CA3"))
	e.apply()
	for _, test := range []struct {
		name       string
		registered int
		change     func(*store.Position)
		prepare    func(jetstream.StreamConfig)
		want       string
	}{
		{name: "an intact stream", registered: 1},
		{name: "a stream that was never read"},
		{name: "another number of partitions", registered: 2, want: ingest.StreamRepartitioned},
		{name: "another stream", change: func(p *store.Position) { p.Stream = uuid.New() }, want: ingest.StreamIdentityChanged},
		{name: "a stream that ends before the position", change: func(p *store.Position) { p.Sequence = 9 }, want: ingest.StreamRegressed},
		{name: "another message with that sequence", change: func(p *store.Position) { p.LastMessageAt-- }, want: ingest.StreamRegressed},
		{name: "replicas that answer", prepare: func(c jetstream.StreamConfig) { c.AllowDirect = true; e.update(c) }, want: ingest.StreamDirect},
	} {
		settings := e.stream.CachedInfo().Config
		if test.prepare != nil {
			test.prepare(settings)
		}
		position := e.applier.Position
		if test.change != nil {
			test.change(&position)
		}
		err := e.source(events.StreamName).CheckPosition(t.Context(), position, test.registered)
		var stop *ingest.StopError
		if errors.As(err, &stop); (stop == nil) != (test.want == "") || stop != nil && stop.Reason != test.want || stop == nil && err != nil {
			t.Errorf("%s: error = %v, want %q", test.name, err, test.want)
		}
		e.update(settings)
	}
}

func (e *env) source(name string) ingest.Source {
	e.t.Helper()
	source, err := ingest.OpenSource(e.t.Context(), e.js, name)
	if err != nil {
		e.t.Fatal(err)
	}
	return source
}

// A stream whose metadata has no UUID is refused with a sentence that names the command.
func TestOpenSource_WithoutIdentity(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	settings := e.stream.CachedInfo().Config
	settings.Metadata = nil
	e.update(settings)
	want := "stream PHONES has no UUID as callboard.stream in its metadata: run 'callboard stream create', which adds one"
	if _, err := ingest.OpenSource(t.Context(), e.js, events.StreamName); err == nil || err.Error() != want {
		t.Errorf("error = %v, want %q", err, want)
	}
}

func (e *env) update(settings jetstream.StreamConfig) {
	e.t.Helper()
	if _, err := e.js.UpdateStream(e.t.Context(), settings); err != nil {
		e.t.Fatal(err)
	}
}

func TestCheckPosition_StreamWithoutItsFirstMessages(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	if err := e.js.DeleteStream(t.Context(), events.StreamName); err != nil {
		t.Fatal(err)
	}
	settings := events.StreamConfig(events.StreamName, 1, 1)
	settings.FirstSeq = 5
	if _, err := e.js.CreateStream(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	e.publish(call(uuid.New(), "CA1"))
	source := e.source(events.StreamName)
	for sequence, want := range map[uint64]string{3: ingest.StreamTruncated, 4: "", 5: ""} {
		position := store.Position{Stream: source.ID, Sequence: sequence, LastMessage: min(sequence, 4)}
		err := source.CheckPosition(t.Context(), position, 1)
		var stop *ingest.StopError
		if errors.As(err, &stop); (stop == nil) != (want == "") || stop != nil && stop.Reason != want || stop == nil && err != nil {
			t.Errorf("position %d: error = %v, want %q", sequence, err, want)
		}
	}
}
