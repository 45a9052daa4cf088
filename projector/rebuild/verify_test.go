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
	"callboard/projector/ingest"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
)

// A projector that is behind, or has stopped, is held against what it has come to and nothing else.
func TestVerify_BehindOrStopped(t *testing.T) {
	s := newStage(t)
	history := company(11, 200)
	stop := s.StartProjector()
	s.Publish(history[:len(history)/2]...)
	s.WaitUntilCaughtUp()
	stop()
	s.Publish(history[len(history)/2:]...)
	s.mustVerify("stopped and behind")
	before := s.Database.Projection(t)
	if result := s.rebuild(); result.Comparison.Differs() {
		t.Errorf("%+v", result.Comparison)
	}
	s.RequireEqualTables("rebuilt where it stands", before)
	s.StartProjector()
	s.WaitUntilCaughtUp()
	s.mustVerify("caught up")
}

// Verification needs no more than an operator may, and nothing stops two of them.
func TestVerify_AsOperator(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	s.Publish(company(11, 50)...)
	s.WaitUntilCaughtUp()
	pool, err := pgxpool.New(t.Context(), s.Database.RoleURL("callboard_operator"))
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
	s.StartProjector()
	s.Publish(company(11, 20)...)
	s.WaitUntilCaughtUp()
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
	s.Publish(history[:len(history)/2]...)
	s.poison()
	s.mustVerify("nothing claimed, nothing served")
	s.rebuild()
	stop := s.StartProjector()
	s.Publish(history[len(history)/2:]...)
	s.WaitUntilCaughtUp()
	stop()
	s.mustVerify("goes on")
	built := s.Database.Projection(t)
	s.Database.TruncateProjection(t)
	s.StartProjector()
	s.WaitUntilCaughtUp()
	s.RequireEqualTables("replayed", built)
}

// A projector that claims a partition while it is being built is behind the new generation at the switch. No message counts twice.
func TestRun_ClaimedMeanwhile(t *testing.T) {
	s := newStage(t)
	s.Publish(company(13, 100)...)
	s.poison()
	info, err := s.Stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	claim := sync.OnceFunc(func() {
		_, err := s.Pool.Exec(t.Context(), `insert into projection.position (partition, stream, stream_created, sequence, epoch, clock, watermark)
			select p, $1, $2, 0, 1, to_timestamp(0), to_timestamp(0) from generate_series(0, $3 - 1) p`, events.StreamName, info.Created, projectortest.Partitions)
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
	stop := s.StartProjector()
	s.WaitUntilCaughtUp()
	stop()
	built := s.Database.Projection(t)
	s.mustVerify("claimed meanwhile")
	s.RequireEqualTables("replayed", built)
	s.Database.TruncateProjection(t)
	s.StartProjector()
	s.WaitUntilCaughtUp()
	s.RequireEqualTables("replayed", built)
}

func TestRun_EmptyStream(t *testing.T) {
	s := newStage(t)
	s.mustVerify("empty")
	s.rebuild()
	stop := s.StartProjector()
	s.caughtUpEmpty()
	s.mustVerify("empty, with a projector")
	s.rebuild()
	s.PublishStates(projectortest.PhoneSystem(uuid.New()))
	s.WaitUntilCaughtUp()
	stop()
	if n := s.QueryInt("select count(*) from projection.phone_system"); n != 1 {
		t.Errorf("%d phone systems, want 1", n)
	}
}

// caughtUpEmpty waits until every partition is claimed and published a watermark.
func (s *stage) caughtUpEmpty() {
	s.TB.Helper()
	eventstest.Eventually(s.TB, "every partition has a watermark", func() bool {
		return s.QueryInt("select count(*) from projection.position where watermark > to_timestamp(0)") == projectortest.Partitions
	})
}

// A stream that was created anew is another one: it can't be verified against, and a rebuild goes over to it. There is no way back.
func TestRun_StreamCreatedAnew(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	log := new(eventstest.LogBuffer)
	s.StartProjector(projectortest.LogTo(log))
	s.Publish(company(17, 100)...)
	s.WaitUntilCaughtUp()
	s.ReplaceStream()
	history := company(18, 100)
	s.Publish(history[:len(history)/2]...)
	if _, err := rebuild.Verify(t.Context(), s.config()); err == nil || !strings.Contains(err.Error(), "another stream") {
		t.Errorf("verification: %v", err)
	}
	if _, err := rebuild.Repair(t.Context(), s.config(), history[0].System); err == nil || !strings.Contains(err.Error(), "another stream") {
		t.Errorf("repair: %v", err)
	}
	eventstest.Eventually(t, "the projector has noticed", func() bool { return log.Count(ingest.StreamIdentityChanged) > 0 })
	s.rebuild()
	s.Publish(history[len(history)/2:]...)
	s.WaitUntilCaughtUp()
	s.mustVerify("goes on with the new stream")
	built := s.Database.Projection(t)
	if _, err := rebuild.Rollback(t.Context(), s.config()); err == nil || !strings.Contains(err.Error(), "another stream") {
		t.Errorf("rollback: %v", err)
	}
	s.RequireEqualTables("after the refused rollback", built)
	s.mustVerify("after the refused rollback")
}

// What was begun for a stream is of no use for another one.
func TestRun_ResumedForAnotherStream(t *testing.T) {
	s := newStage(t)
	s.Publish(company(17, 50)...)
	stop := s.StartProjector()
	s.WaitUntilCaughtUp()
	stop()
	if !s.ended(s.spawn(rebuild.StepIndex, 1)) {
		t.Fatal("it came to its end")
	}
	s.ReplaceStream()
	s.Publish(company(18, 50)...)
	if !s.ended(s.spawn(rebuild.StepIndex, 1)) {
		t.Fatal("it came to its end")
	}
	if n := s.QueryInt("select max(id) from control.generation"); n != 3 {
		t.Errorf("generation %d is built, want another than that for the old stream", n)
	}
	if result := s.rebuild(); !result.Resumed || result.Generation != 3 {
		t.Errorf("%+v", result)
	}
	s.StartProjector()
	s.WaitUntilCaughtUp()
	s.mustVerify("of the new stream")
}

// A stream whose beginning is gone can't give a projection again.
func TestRun_Purged(t *testing.T) {
	s := newStage(t)
	s.ReplaceStream(func(c *jetstream.StreamConfig) { c.DenyPurge = false })
	s.StartProjector()
	s.Publish(company(19, 50)...)
	s.WaitUntilCaughtUp()
	before := s.Database.Projection(t)
	if err := s.Stream.Purge(t.Context(), jetstream.WithPurgeSequence(5)); err != nil {
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
	s.RequireEqualTables("untouched", before)
}

// A run that is told to end ends, and the next one goes on with it.
func TestRun_Cancelled(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	s.Publish(company(19, 100)...)
	s.WaitUntilCaughtUp()
	before := s.Database.Projection(t)
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
	eventstest.Eventually(t, "the lock is gone", func() bool { return s.QueryInt(advisoryLocks) == 0 })
	s.resume()
	s.RequireEqualTables("resumed", before)
	s.tidy()
}
