package rebuild_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
)

// A stream that ends before the positions has lost messages, and what it grows into is something else: the projector stops, whether it
// looks before or after the stream has grown past its position, and a rebuild takes the stream as it is.
func TestRun_StreamRegressed(t *testing.T) {
	for name, late := range map[string]bool{"noticed at once": false, "noticed when it has grown again": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			stop := s.StartProjector()
			s.Publish(company(5, 60)...)
			s.WaitUntilCaughtUp()
			stop()
			s.loses("projection")
			system := uuid.New()
			if late {
				for range 80 {
					s.PublishStates(projectortest.Call(system, uuid.New()))
				}
			}
			s.StartProjector()
			if _, err := rebuild.Verify(t.Context(), s.config()); err == nil {
				t.Error("verified against a stream that isn't the one")
			}
			s.rebuild()
			for range 20 {
				s.PublishStates(projectortest.Call(system, uuid.New()))
			}
			s.WaitUntilCaughtUp()
			want := int64(20)
			if late {
				want = 100
			}
			if n := s.QueryInt("select count(*) from projection.call_log where system_id = $1", system); n != want {
				t.Errorf("%d calls, want %d", n, want)
			}
			s.mustVerify("after the rebuild")
		})
	}
}

// loses makes a schema what it would be if the stream had held ten messages more of each partition, which were applied.
func (s *stage) loses(schema string) {
	s.TB.Helper()
	s.Exec("update " + schema + ".position set sequence = sequence + 10, last_message = sequence + 10, last_message_at = clock")
}

// A plan that goes beyond what the stream has now is not gone on with: what it would call done can't be.
func TestRun_ResumedBeyondTheStream(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	s.Publish(company(41, 60)...)
	s.WaitUntilCaughtUp()
	for name, beyond := range map[string]func(){
		"a part that is left": func() { s.Exec("update control.generation_part set sequence = sequence + 10 where read is null") },
		"a part that is done": func() { s.loses(fmt.Sprintf("generation_%d", s.QueryInt("select max(id) from control.generation"))) },
	} {
		if !s.ended(s.spawn(rebuild.StepFold, 60)) {
			t.Fatal("it came to its end")
		}
		beyond()
		if result := s.rebuild(small); result.Resumed || result.Comparison.Differs() {
			t.Errorf("%s: %+v", name, result)
		}
		s.mustVerify(name)
		s.tidy()
	}
}

// A generation that has what the stream has lost is none to roll back to.
func TestRollback_StreamRegressed(t *testing.T) {
	for schema, name := range map[string]string{"generation_1": "generation 1: ", "projection": "live generation: "} {
		t.Run(schema, func(t *testing.T) {
			s := newStage(t)
			stop := s.StartProjector()
			s.Publish(company(43, 10)...)
			s.WaitUntilCaughtUp()
			s.rebuild()
			stop()
			s.loses(schema)
			_, err := rebuild.Rollback(t.Context(), s.config())
			if err == nil || !strings.HasPrefix(err.Error(), name) || !strings.Contains(err.Error(), "that the stream has lost") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestRepair_StreamRegressed(t *testing.T) {
	s := newStage(t)
	stop := s.StartProjector()
	history := company(44, 10)
	s.Publish(history...)
	s.WaitUntilCaughtUp()
	stop()
	s.loses("projection")
	before := s.Database.Projection(t)
	if _, err := rebuild.Repair(t.Context(), s.config(), systemsOf(history)[0]); err == nil || !strings.Contains(err.Error(), "that the stream has lost") {
		t.Errorf("%v", err)
	}
	s.RequireEqualTables("refused repair", before)
}

// A rebuild that has followed what the stream loses before the switch isn't switched to, and the next one begins anew.
func TestRun_StreamRegressesMeanwhile(t *testing.T) {
	s := newStage(t)
	stop := s.StartProjector()
	s.Publish(company(45, 20)...)
	s.WaitUntilCaughtUp()
	stop()
	if !s.ended(s.spawn(rebuild.StepIndex, 1)) {
		t.Fatal("it came to its end")
	}
	s.loses("projection")
	if result := s.rebuild(); result.Resumed {
		t.Error("what was folded before is gone on with")
	}
	lose := sync.OnceFunc(func() { s.loses("projection") })
	_, err := rebuild.Run(t.Context(), s.with(func(p rebuild.Progress) {
		if p.Step == rebuild.StepIndex {
			lose()
		}
	}), false)
	if err == nil || !strings.Contains(err.Error(), "that the stream has lost") {
		t.Fatalf("%v", err)
	}
	if result := s.rebuild(); result.Resumed {
		t.Error("what has followed is gone on with")
	}
	s.StartProjector()
	s.WaitUntilCaughtUp()
	s.mustVerify("the stream as it is")
}

// A retry that was done behind what the stream has lost is done again, and keeps no other one waiting.
func TestRun_RetriedBehindTheEnd(t *testing.T) {
	s := newStage(t)
	s.Exec(picky)
	stop := s.StartProjector()
	system := uuid.New()
	s.PublishStates(projectortest.PhoneSystem(system), refused(system), projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	s.letGo()
	s.retry()
	stop()
	s.Exec("update control.dead_letter set retry_position = retry_position + 1000")
	s.loses("projection")
	s.rebuild()
	s.StartProjector()
	eventstest.Eventually(t, "it is done again", func() bool { return s.QueryInt("select count(*) from projection.call_log") == 2 })
	s.Exec(picky + " not valid")
	s.PublishStates(refused(system))
	s.WaitUntilCaughtUp()
	s.letGo()
	s.retry()
	if n := s.QueryInt("select count(*) from projection.call_log"); n != 3 || s.open() != 0 {
		t.Errorf("%d calls, %d open letters", n, s.open())
	}
	s.mustVerify("retried")
	s.rebuild()
	s.WaitUntilCaughtUp()
	s.mustVerify("rebuilt again")
}

// With another number of partitions a phone system's events lie in two of them, and no order is left among these.
func TestRun_StreamRepartitioned(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	history := company(46, 10)
	s.Publish(history...)
	s.WaitUntilCaughtUp()
	s.rebuild()
	s.WaitUntilCaughtUp()
	s.SetPartitions(2 * projectortest.Partitions)
	for name, work := range map[string]func() error{
		"rebuild": func() error { _, err := rebuild.Run(t.Context(), s.config(), false); return err },
		"verify":  func() error { _, err := rebuild.Verify(t.Context(), s.config()); return err },
		"repair": func() error {
			_, err := rebuild.Repair(t.Context(), s.config(), systemsOf(history)[0])
			return err
		},
		"rollback": func() error { _, err := rebuild.Rollback(t.Context(), s.config()); return err },
	} {
		if err := work(); err == nil || !strings.Contains(err.Error(), "has 8 partitions and had 4") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Where any replica may answer, nobody can tell where the stream ends.
func TestRun_StreamDirect(t *testing.T) {
	s := newStage(t)
	s.SetAllowDirect(true)
	if _, err := rebuild.Run(t.Context(), s.config(), false); err == nil || !strings.Contains(err.Error(), "allow_direct") {
		t.Errorf("%v", err)
	}
}

// What is on record of messages that the stream has lost says nothing of those that have their sequences now.
func TestRun_LettersOfLostMessages(t *testing.T) {
	s := newStage(t)
	system := uuid.New()
	s.PublishStates(projectortest.Call(system, uuid.New()), projectortest.Call(system, uuid.New()), projectortest.Call(system, uuid.New()))
	s.poison()
	stop := s.StartProjector()
	s.WaitUntilCaughtUp()
	stop()
	s.Exec("delete from control.dead_letter")
	s.loses("projection")
	s.lostLetter(1, "null, null, null")
	s.lostLetter(2, "'applied', 3, nextval('control.dead_letter_retry_seq')")
	s.lostLetter(4, "null, null, null")
	s.rebuild()
	if n := s.QueryInt("select count(*) from projection.call_log"); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
	if n := s.QueryInt("select count(*) from control.dead_letter where resolution is null"); n != 2 {
		t.Errorf("%d open dead letters, want the 2 that the stream holds", n)
	}
	if n := s.QueryInt("select count(*) from control.dead_letter where resolution = 'dropped'"); n != 1 {
		t.Errorf("%d dead letters are dropped, want the 1 that the stream has lost", n)
	}
	if n := s.QueryInt("select sum(dead)::bigint from projection.message_count"); n != 2 {
		t.Errorf("%d messages are dead by the ledger, want 2", n)
	}
	s.StartProjector()
	s.WaitUntilCaughtUp()
	s.mustVerify("after the rebuild")
}

// lostLetter puts a dead letter on record whose message is not the one that has the sequence. What became of it is its resolution,
// its position and its turn.
func (s *stage) lostLetter(sequence uint64, became string) {
	s.TB.Helper()
	message, err := s.Stream.GetMsg(s.TB.Context(), sequence)
	if err != nil {
		s.TB.Fatal(err)
	}
	partition := strings.Split(message.Subject, ".")[1]
	_, err = s.Pool.Exec(s.TB.Context(), `
		insert into control.dead_letter
		  (stream, stream_created, sequence, partition, subject, header, data, reason, stored_at, resolution, retry_position, retry_seq, retry_clock)
		select $1, $2, $3, $4::text::smallint, $5, '', $6, 'lost', $7, `+became+`, now()`,
		events.StreamName, s.Stream.CachedInfo().Created, int64(sequence), partition, message.Subject, message.Data, message.Time.Add(-time.Minute))
	if err != nil {
		s.TB.Fatal(err)
	}
}
