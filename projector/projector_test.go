package projector_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/ingest"
	"callboard/projector/projectortest"
)

func TestProjector_EventsBecomeRows(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	system, id := uuid.New(), uuid.New()
	s.PublishStates(projectortest.PhoneSystem(system), projectortest.Call(system, id))
	s.WaitUntilCaughtUp()
	if n := s.QueryInt("select count(*) from projection.call_log where system_id = $1 and id = $2", system, id); n != 1 {
		t.Errorf("%d call rows, want 1", n)
	}
	want := int64(events.Partition(system, projectortest.Partitions))
	if got := s.QueryInt("select partition from projection.phone_system where id = $1", system); got != want {
		t.Errorf("partition %d, want %d", got, want)
	}
}

func TestProjector_WatermarkMovesWhileIdleAndIsAPromise(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	before := time.Now()
	eventstest.Eventually(t, "every watermark past the test's start", func() bool {
		return s.QueryInt("select count(*) from projection.position where watermark > $1", before) == projectortest.Partitions
	})
	system := uuid.New()
	for range 200 {
		s.PublishStates(projectortest.Call(system, uuid.New()))
	}
	s.WaitUntilCaughtUp()
	// A row can't appear behind a watermark, so no row's time is behind the stream's time of its message.
	if n := s.QueryInt("select count(*) from projection.call_log where updated_at < $1", before); n != 0 {
		t.Errorf("%d rows behind an older watermark", n)
	}
	if n := s.QueryInt("select count(*) from projection.position where watermark < clock"); n != 0 {
		t.Errorf("%d projectortest.Partitions whose watermark is behind their clock", n)
	}
}

func TestProjector_DeadLetters(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	system := uuid.New()
	subject := events.Subject(system, events.EntityCall)
	header := func(ceType string) nats.Header {
		return nats.Header{"ce-specversion": {"1.0"}, "ce-id": {uuid.NewString()}, "ce-source": {"test"}, "ce-type": {ceType}}
	}
	tests := []struct {
		name, reason string
		publish      func() uint64
	}{
		{"no JSON", "not JSON", func() uint64 { return s.PublishRaw(subject, header("callboard.call.changed"), `{"id":`) }},
		{"unknown type", "header:ce-type", func() uint64 { return s.PublishRaw(subject, header("callboard.fax.changed"), `{}`) }},
		{"no headers", "header:ce-id", func() uint64 { return s.PublishRaw(subject, nil, `{}`) }},
		{"wrong members", "/version: is required", func() uint64 {
			return s.PublishRaw(subject, header("callboard.call.deleted"), `{"id":"`+uuid.NewString()+`","phoneSystemId":"`+system.String()+`"}`)
		}},
		{"another system's subject", "subject: names another phone system", func() uint64 {
			return s.PublishRaw(subject, header("callboard.call.deleted"), `{"id":"`+uuid.NewString()+`","phoneSystemId":"`+uuid.NewString()+`","version":1}`)
		}},
		{"missing claim check", "/object", func() uint64 {
			return s.PublishRaw(events.Subject(system, events.EntityTranscript), header("callboard.transcript.changed"),
				`{"phoneSystemId":"`+system.String()+`","callId":"`+uuid.NewString()+`","version":1,"status":"completed",`+
					`"object":{"bucket":"PHONE_TRANSCRIPTS","name":"gone","bytes":3,"digest":"SHA-256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU="}}`)
		}},
	}
	for _, test := range tests {
		sequence := test.publish()
		good := projectortest.Call(system, uuid.New())
		s.PublishStates(good)
		eventstest.Eventually(t, test.name+": a dead letter", func() bool {
			return s.QueryInt("select count(*) from control.dead_letter where sequence = $1 and reason like '%' || $2 || '%'", int64(sequence), test.reason) == 1
		})
		eventstest.Eventually(t, test.name+": the event behind it", func() bool {
			return s.QueryInt("select count(*) from projection.call_log where id = $1", good.ID) == 1
		})
	}
}

// Should Postgres refuse what decoding has let through, its batch must not go with it.
func TestProjector_BisectsWhatPostgresRefuses(t *testing.T) {
	s := newStage(t)
	if _, err := s.Pool.Exec(t.Context(), "alter table projection.call_log add check (call_sid <> 'CArefused')"); err != nil {
		t.Fatal(err)
	}
	system := uuid.New()
	states := []events.State{projectortest.PhoneSystem(system)}
	for i := range 300 {
		c := projectortest.Call(system, uuid.New())
		if i == 70 || i == 71 || i == 200 {
			c.CallSid = "CArefused"
		}
		states = append(states, c)
	}
	s.PublishStates(states...)
	s.StartProjector()
	s.WaitUntilCaughtUp()
	if n := s.QueryInt("select count(*) from projection.call_log"); n != 297 {
		t.Errorf("%d rows, want 297", n)
	}
	if n := s.QueryInt("select count(*) from control.dead_letter where reason like '%SQLSTATE 23514%'"); n != 3 {
		t.Errorf("%d dead letters, want 3", n)
	}
	if n := s.QueryInt("select sum(count) from projection.day_count where subset = ''"); n != 297 {
		t.Errorf("counted %d, want 297", n)
	}
}

func TestProjector_LargeTranscriptsAreFetched(t *testing.T) {
	s := newStage(t)
	s.Publisher = events.NewPublisher(s.JetStream, "test", events.MaxMessage(2000))
	s.StartProjector()
	system, id := uuid.New(), uuid.New()
	text := strings.Repeat("So it goes. ", 1000)
	s.PublishStates(projectortest.Call(system, id), &events.Transcript{
		PhoneSystemID: system, CallID: events.Some(id), Version: 1, Status: events.TranscriptCompleted, Text: events.Some(text),
	})
	s.WaitUntilCaughtUp()
	if n := s.QueryInt("select count(*) from projection.transcript_text where owner_id = $1 and text = $2", id, text); n != 1 {
		t.Error("the text isn't stored")
	}
}

func TestProjector_AnotherTakesOver(t *testing.T) {
	s := newStage(t)
	stop := s.StartProjector()
	system := uuid.New()
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	epochs := s.QueryInt("select sum(epoch) from projection.position")
	s.StartProjector()
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	if now := s.QueryInt("select sum(epoch) from projection.position"); now != epochs {
		t.Errorf("epochs rose from %d to %d while the owner was there", epochs, now)
	}
	stop()
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	if now := s.QueryInt("select sum(epoch) from projection.position"); now != epochs+projectortest.Partitions {
		t.Errorf("epochs %d after the takeover, want %d", now, epochs+projectortest.Partitions)
	}
	if n := s.QueryInt("select count(*) from projection.call_log"); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

func TestProjector_SharesPartitions(t *testing.T) {
	s := newStage(t)
	s.StartProjector(func(c *projector.Config) { c.Partitions = []int{0, 1} })
	s.StartProjector(func(c *projector.Config) { c.Partitions = []int{2, 3} })
	for range 50 {
		s.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
	}
	s.WaitUntilCaughtUp()
	if n := s.QueryInt("select count(*) from projection.call_log"); n != 50 {
		t.Errorf("%d rows, want 50", n)
	}
}

func TestProjector_SurvivesItsServers(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	system := uuid.New()
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	s.Server.Restart()
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	if _, err := s.Pool.Exec(t.Context(),
		"select pg_terminate_backend(pid) from pg_stat_activity where usename = 'callboard_projector' and datname = current_database()"); err != nil {
		t.Fatal(err)
	}
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	if n := s.QueryInt("select count(*) from projection.call_log"); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

// What others do to the durable consumer costs a restart from the position, never a message.
func TestProjector_MendsAStolenDelivery(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	system := uuid.New()
	partition := events.Partition(system, projectortest.Partitions)
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	thief, err := s.Stream.Consumer(t.Context(), "projector-"+strconv.Itoa(partition))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		s.PublishStates(projectortest.Call(system, uuid.New()))
		if i%5 == 0 {
			if _, err := thief.FetchNoWait(1); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.WaitUntilCaughtUp()
	if n := s.QueryInt("select count(*) from projection.call_log"); n != 21 {
		t.Errorf("%d rows, want 21", n)
	}
	if err := s.Stream.DeleteConsumer(t.Context(), thief.CachedInfo().Name); err != nil {
		t.Fatal(err)
	}
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	if n := s.QueryInt("select count(*) from projection.call_log"); n != 22 {
		t.Errorf("%d rows, want 22", n)
	}
}

func TestProjector_StopsAtAnotherStream(t *testing.T) {
	s := newStage(t)
	log := new(eventstest.LogBuffer)
	stop := s.StartProjector(projectortest.LogTo(log))
	system := uuid.New()
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	s.ReplaceStream()
	for range 10 {
		s.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
	}
	eventstest.Eventually(t, "the running projector says so", func() bool { return log.Contains(ingest.StreamIdentityChanged) })
	stop()

	log = new(eventstest.LogBuffer)
	s.StartProjector(projectortest.LogTo(log))
	eventstest.Eventually(t, "a new projector says so", func() bool { return log.Contains(ingest.StreamIdentityChanged) })
	if n := s.QueryInt("select count(*) from projection.call_log"); n != 1 {
		t.Errorf("%d rows, want the 1 of the old stream", n)
	}
}

func TestProjector_StopsAtAStreamThatLostItsEnd(t *testing.T) {
	s := newStage(t)
	stop := s.StartProjector()
	s.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
	s.WaitUntilCaughtUp()
	stop()
	if _, err := s.Pool.Exec(t.Context(), "update projection.position set sequence = 1000"); err != nil {
		t.Fatal(err)
	}
	log := new(eventstest.LogBuffer)
	s.StartProjector(projectortest.LogTo(log))
	eventstest.Eventually(t, "it says so", func() bool { return log.Contains(ingest.StreamRegressed) })
}

// Where any replica may answer, the leader's answer that nothing waits can't be had.
func TestProjector_StopsWhereReplicasAnswer(t *testing.T) {
	s := newStage(t)
	log := new(eventstest.LogBuffer)
	s.StartProjector(projectortest.LogTo(log))
	s.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
	s.WaitUntilCaughtUp()
	s.SetAllowDirect(true)
	eventstest.Eventually(t, "the running projector says so", func() bool { return log.Contains(ingest.StreamDirect) })
	s.SetAllowDirect(false)
	s.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
	s.WaitUntilCaughtUp()
}

// What a release's migrations make is missed sooner or later: rather at once.
func TestProjector_StopsBeforeItsMigrations(t *testing.T) {
	s := newStage(t)
	s.Exec("update control.migration set version_id = version_id - 1")
	log := new(eventstest.LogBuffer)
	stop := s.StartProjector(projectortest.LogTo(log))
	s.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
	says(t, log, ingest.MigrationMissing)
	stop()
	s.Exec("update control.migration set version_id = version_id + 1")
	s.StartProjector()
	s.WaitUntilCaughtUp()
}

// A message stored behind a published watermark lifts the clock, and a replay finds the lift.
func TestProjector_LiftsTheClockAndReplaysTheLift(t *testing.T) {
	s := newStage(t)
	stop := s.StartProjector()
	system := uuid.New()
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	stop()
	ahead := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	if _, err := s.Pool.Exec(t.Context(), "update projection.position set watermark = $1", ahead); err != nil {
		t.Fatal(err)
	}
	stop = s.StartProjector()
	id := uuid.New()
	s.PublishStates(projectortest.Call(system, id))
	s.WaitUntilCaughtUp()
	stop()
	at := func() int64 {
		return s.QueryInt("select count(*) from projection.call_log where id = $1 and updated_at = $2", id, ahead)
	}
	if at() != 1 || s.QueryInt("select count(*) from control.clock_adjustment") != 1 {
		t.Fatal("the clock wasn't lifted to the watermark")
	}
	before := s.Database.Projection(t)
	s.Database.TruncateProjection(t)
	s.StartProjector()
	s.WaitUntilCaughtUp()
	s.RequireEqualTables("replayed", before)
}

func TestProjector_AcknowledgesForPeopleToSee(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	system := uuid.New()
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	eventstest.Eventually(t, "no pending deliveries", func() bool {
		pending := 0
		lister := s.Stream.ListConsumers(t.Context())
		for info := range lister.Info() {
			pending += info.NumAckPending + int(info.NumPending)
			if info.Config.AckPolicy != jetstream.AckAllPolicy {
				t.Errorf("consumer %s acknowledges by %s", info.Name, info.Config.AckPolicy)
			}
		}
		return pending == 0
	})
}

func TestImports(t *testing.T) { eventstest.Imports(t) }

// A consumer that stops delivering without an error is noticed, and made anew.
func TestProjector_NoticesAStalledConsumer(t *testing.T) {
	s := newStage(t)
	log := new(eventstest.LogBuffer)
	s.StartProjector(projectortest.LogTo(log))
	system := uuid.New()
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	name := "projector-" + strconv.Itoa(events.Partition(system, projectortest.Partitions))
	if _, err := s.Stream.PauseConsumer(t.Context(), name, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	s.PublishStates(projectortest.Call(system, uuid.New()))
	eventstest.Eventually(t, "it says so", func() bool { return log.Contains("stopped delivering") })
	s.WaitUntilCaughtUp()
	if n := s.QueryInt("select count(*) from projection.call_log"); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}
