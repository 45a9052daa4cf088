package rebuild_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/rebuild"
)

// A projector that is behind, or has stopped, is held against what it has come to and nothing else.
func TestVerify_BehindOrStopped(t *testing.T) {
	s := newStage(t)
	history := company(11, 200)
	stop := s.start()
	s.publish(history[:len(history)/2]...)
	s.caughtUp()
	stop()
	s.publish(history[len(history)/2:]...)
	s.mustVerify("stopped and behind")
	before := s.database.Projection(t)
	if result := s.rebuild(); result.Comparison.Differs() {
		t.Errorf("%+v", result.Comparison)
	}
	s.mustEqual("rebuilt where it stands", before)
	s.start()
	s.caughtUp()
	s.mustVerify("caught up")
}

// Verification needs no more than an operator may, and nothing stops two of them.
func TestVerify_AsOperator(t *testing.T) {
	s := newStage(t)
	s.start()
	s.publish(company(11, 50)...)
	s.caughtUp()
	pool, err := pgxpool.New(t.Context(), s.database.RoleURL("callboard_operator"))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	config := s.config()
	config.Database = pool
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			result, err := rebuild.Verify(t.Context(), config)
			if err != nil || result.Differs() || result.Rows == 0 {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
	both.Wait()
}

// One work on the projection at a time: whoever comes second is told, verification included.
func TestRun_Busy(t *testing.T) {
	s := newStage(t)
	s.start()
	s.publish(company(11, 20)...)
	s.caughtUp()
	s.rebuild(at(rebuild.StepPlan, func() {
		var second sync.WaitGroup
		for what, work := range map[string]func() error{
			"run":      func() error { _, err := rebuild.Run(t.Context(), s.config(), false); return err },
			"verify":   func() error { _, err := rebuild.Verify(t.Context(), s.config()); return err },
			"repair":   func() error { _, err := rebuild.Repair(t.Context(), s.config(), uuid.New()); return err },
			"rollback": func() error { _, err := rebuild.Rollback(t.Context(), s.config()); return err },
		} {
			second.Go(func() {
				if err := work(); !errors.Is(err, rebuild.ErrBusy) {
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		second.Wait()
	}))
}

// Partitions that no projector has claimed are built up to the stream's end, and the projector goes on from there.
func TestRun_Unclaimed(t *testing.T) {
	s := newStage(t)
	history := company(13, 200)
	s.publish(history[:len(history)/2]...)
	s.poison()
	s.mustVerify("nothing claimed, nothing served")
	s.rebuild()
	stop := s.start()
	s.publish(history[len(history)/2:]...)
	s.caughtUp()
	stop()
	s.mustVerify("goes on")
	built := s.database.Projection(t)
	s.database.Forget(t)
	s.start()
	s.caughtUp()
	s.mustEqual("replayed", built)
}

// A projector that claims a partition while it is being built is behind the new generation at the switch. No message counts twice.
func TestRun_ClaimedMeanwhile(t *testing.T) {
	s := newStage(t)
	s.publish(company(13, 100)...)
	s.poison()
	info, err := s.stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	claim := sync.OnceFunc(func() {
		_, err := s.pool.Exec(t.Context(), `insert into projection.position (partition, stream, stream_created, sequence, epoch, clock, watermark)
			select p, $1, $2, 0, 1, to_timestamp(0), to_timestamp(0) from generate_series(0, $3 - 1) p`, events.StreamName, info.Created, partitions)
		if err != nil {
			t.Error(err)
		}
	})
	s.rebuild(func(c *rebuild.Config) {
		c.Progress = func(p rebuild.Progress) {
			if p.Step == rebuild.StepIndex {
				claim()
			}
		}
	})
	stop := s.start()
	s.caughtUp()
	stop()
	built := s.database.Projection(t)
	s.mustVerify("claimed meanwhile")
	s.mustEqual("replayed", built)
	s.database.Forget(t)
	s.start()
	s.caughtUp()
	s.mustEqual("replayed", built)
}

func TestRun_EmptyStream(t *testing.T) {
	s := newStage(t)
	s.mustVerify("empty")
	s.rebuild()
	stop := s.start()
	s.caughtUpEmpty()
	s.mustVerify("empty, with a projector")
	s.rebuild()
	s.states(phoneSystem(uuid.New()))
	s.caughtUp()
	stop()
	if n := s.number("select count(*) from projection.phone_system"); n != 1 {
		t.Errorf("%d phone systems, want 1", n)
	}
}

// caughtUpEmpty waits until every partition is claimed and published a watermark.
func (s *stage) caughtUpEmpty() {
	s.tb.Helper()
	await(s.tb, "every partition has a watermark", func() bool {
		return s.number("select count(*) from projection.position where watermark > to_timestamp(0)") == partitions
	})
}

// recreate deletes the stream and creates it anew.
func (s *stage) recreate() {
	s.tb.Helper()
	if err := s.js.DeleteStream(s.tb.Context(), events.StreamName); err != nil {
		s.tb.Fatal(err)
	}
	if err := s.js.DeleteObjectStore(s.tb.Context(), events.TranscriptBucket); err != nil {
		s.tb.Fatal(err)
	}
	s.stream = eventstest.CreateStream(s.tb, s.js, partitions)
}

// A stream that was created anew is another one: it can't be verified against, and a rebuild goes over to it. There is no way back.
func TestRun_StreamCreatedAnew(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	log := new(journal)
	s.start(log.instead)
	s.publish(company(17, 100)...)
	s.caughtUp()
	s.recreate()
	history := company(18, 100)
	s.publish(history[:len(history)/2]...)
	if _, err := rebuild.Verify(t.Context(), s.config()); err == nil || !strings.Contains(err.Error(), "another stream") {
		t.Errorf("verification: %v", err)
	}
	if _, err := rebuild.Repair(t.Context(), s.config(), history[0].System); err == nil || !strings.Contains(err.Error(), "another stream") {
		t.Errorf("repair: %v", err)
	}
	await(t, "the projector has noticed", func() bool { return log.count(projector.StreamIdentityChanged) > 0 })
	s.rebuild()
	s.publish(history[len(history)/2:]...)
	s.caughtUp()
	s.mustVerify("goes on with the new stream")
	built := s.database.Projection(t)
	if _, err := rebuild.Rollback(t.Context(), s.config()); err == nil || !strings.Contains(err.Error(), "another stream") {
		t.Errorf("rollback: %v", err)
	}
	s.mustEqual("after the refused rollback", built)
	s.mustVerify("after the refused rollback")
}

// What was begun for a stream is of no use for another one.
func TestRun_ResumedForAnotherStream(t *testing.T) {
	s := newStage(t)
	s.publish(company(17, 50)...)
	if !s.ended(s.spawn(rebuild.StepIndex, 1)) {
		t.Fatal("it came to its end")
	}
	s.recreate()
	s.publish(company(18, 50)...)
	if result := s.rebuild(); result.Resumed {
		t.Errorf("%+v", result)
	}
	s.start()
	s.caughtUp()
	s.mustVerify("of the new stream")
}

// A stream whose beginning is gone can't give a projection again.
func TestRun_Purged(t *testing.T) {
	s := newStage(t)
	if err := s.js.DeleteStream(t.Context(), events.StreamName); err != nil {
		t.Fatal(err)
	}
	settings := events.StreamConfig(events.StreamName, partitions, 1)
	settings.DenyPurge = false
	var err error
	if s.stream, err = s.js.CreateStream(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.publish(company(19, 50)...)
	s.caughtUp()
	before := s.database.Projection(t)
	if err := s.stream.Purge(t.Context(), jetstream.WithPurgeSequence(5)); err != nil {
		t.Fatal(err)
	}
	_, runErr := rebuild.Run(t.Context(), s.config(), false)
	_, verifyErr := rebuild.Verify(t.Context(), s.config())
	_, repairErr := rebuild.Repair(t.Context(), s.config(), uuid.Nil)
	for _, err := range []error{runErr, verifyErr, repairErr} {
		if err == nil || !strings.Contains(err.Error(), "begins at sequence 5") {
			t.Errorf("%v", err)
		}
	}
	s.mustEqual("untouched", before)
}

// A run that is told to end ends, and the next one goes on with it.
func TestRun_Cancelled(t *testing.T) {
	s := newStage(t)
	s.start()
	s.publish(company(19, 100)...)
	s.caughtUp()
	before := s.database.Projection(t)
	for _, step := range []rebuild.Step{rebuild.StepFold, rebuild.StepIndex, rebuild.StepFollow, rebuild.StepSwitch} {
		ctx, cancel := context.WithCancel(t.Context())
		config := s.config()
		small(&config)
		config.Progress = func(p rebuild.Progress) {
			if p.Step == step {
				cancel()
			}
		}
		if _, err := rebuild.Run(ctx, config, true); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %s: %v", step, err)
		}
	}
	await(t, "the lock is gone", func() bool { return s.number(advisoryLocks) == 0 })
	s.resume()
	s.mustEqual("resumed", before)
	s.tidy()
}
