package rebuild_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
)

func transcriptOf(c *events.Call) *events.Transcript {
	return &events.Transcript{
		PhoneSystemID: c.PhoneSystemID, CallID: events.Some(c.ID), Version: 1,
		Status: events.TranscriptCompleted, Text: events.Some(strings.Repeat("Hello? ", 400)),
	}
}

// publishClaimChecks publishes transcripts whose text is in the object store.
func (h *harness) publishClaimChecks(list ...*events.Transcript) {
	h.Helper()
	publisher := events.NewPublisher(h.JetStream, "test", events.MaxMessage(2000))
	for _, transcript := range list {
		if err := publisher.Publish(h.Context(), events.Changed(transcript)); err != nil {
			h.Fatal(err)
		}
	}
}

// publishTranscribedCall publishes a call with its transcript, and returns when they are applied.
func (h *harness) publishTranscribedCall() (system uuid.UUID) {
	h.Helper()
	system = uuid.New()
	call := projectortest.Call(system, uuid.New())
	h.PublishStates(projectortest.PhoneSystem(system), call)
	h.publishClaimChecks(transcriptOf(call))
	h.WaitUntilCaughtUp()
	return system
}

// deleteObjects deletes every object of the store. restore stores them again.
func (h *harness) deleteObjects() (restore func()) {
	h.Helper()
	bucket, err := h.JetStream.ObjectStore(h.Context(), events.TranscriptBucket)
	if err != nil {
		h.Fatal(err)
	}
	list, err := bucket.List(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	bodies := make(map[string][]byte)
	for _, entry := range list {
		if bodies[entry.Name], err = bucket.GetBytes(h.Context(), entry.Name); err != nil {
			h.Fatal(err)
		}
		if err := bucket.Delete(h.Context(), entry.Name); err != nil {
			h.Fatal(err)
		}
	}
	return func() {
		h.Helper()
		for name, body := range bodies {
			if _, err := bucket.PutBytes(h.Context(), name, body); err != nil {
				h.Fatal(err)
			}
		}
	}
}

// advanceWatermarks makes the next messages need clock adjustments.
func (h *harness) advanceWatermarks() {
	h.Helper()
	h.Exec("update projection.position set watermark = $1", time.Now().Add(time.Hour))
}

// A replay cannot know clock adjustments, dead letters and failed retries, so it takes them from their records.
func TestRun_RepeatsRecordedDecisions(t *testing.T) {
	h := newHarness(t)
	stop := h.StartProjector()
	system := uuid.New()
	history := sampleEvents(61, 100)
	h.Exec(refuseCalls)
	first, second := projectortest.Call(system, uuid.New()), refusedCall(system)
	h.PublishStates(projectortest.PhoneSystem(system), first)
	h.publishClaimChecks(transcriptOf(first), transcriptOf(second))
	h.Publish(history[:len(history)/2]...)
	h.publishPoison()
	h.Apply(second)
	stop()
	h.advanceWatermarks()
	stop = h.StartProjector()
	h.Publish(again(history)...) // the first half is stale
	slices.Reverse(history)
	h.Publish(again(history[:100])...)
	h.WaitUntilCaughtUp()
	h.acceptCalls()
	h.RetryDeadLetters()
	h.Apply(projectortest.Call(system, uuid.New()))
	for _, query := range []string{
		"select count(*) from control.clock_adjustment where not capped",
		"select count(*) from control.dead_letter where resolution is null",
		"select count(*) from control.dead_letter where resolution = 'applied'",
		"select count(*) from control.dead_letter where tries > 0",
	} {
		if h.QueryInt(query) == 0 {
			t.Fatalf("%s: 0 rows, want some to repeat", query)
		}
	}
	want := h.Database.Projection(t)
	h.requireVerified("live")
	h.requireRebuilt(smallBatches)
	if _, err := rebuild.Repair(t.Context(), h.config(), system); err != nil {
		t.Error(err)
	}
	h.RequireEqualTables("repaired", want)
	h.WaitUntilCaughtUp()
	stop()
	h.RequireReplayEquals(want)
}

// A transcript whose object is gone is reported by verify and rebuild, and a repair refuses to drop its text.
func TestUnreadableMessage(t *testing.T) {
	h := newHarness(t)
	h.StartProjector()
	system := h.publishTranscribedCall()
	before := h.Database.Projection(t)
	restore := h.deleteObjects()
	requireReported := func(by string, c rebuild.Comparison) {
		t.Helper()
		if len(c.Unreadable) != 1 || !strings.Contains(c.Unreadable[0].Reason, "/object") ||
			!slices.Contains(c.Changes, rebuild.Change{Table: "transcript_text", Kind: rebuild.KindSurplus, Rows: 1}) {
			t.Errorf("%s: comparison = %+v, want one unreadable message and one surplus text", by, c)
		}
	}
	requireReported("verify", h.verify())
	h.requireErrors(system, func(err error) bool { return errors.Is(err, rebuild.ErrUnreadable) }, "repair")
	h.RequireEqualTables("refused repair", before)
	h.interruptRebuild(rebuild.StepIndex, 1)
	requireReported("resumed rebuild", h.rebuild().Comparison)
	h.requireOpenDeadLetters(1)
	h.requireVerified("now a dead letter")
	restore()
	h.RetryDeadLetters()
	h.requireTranscriptTexts(1)
	h.requireOpenDeadLetters(0)
	h.requireVerified("retried")
	for _, which := range []string{"rolled back", "rolled forward"} {
		h.rollback()
		h.requireVerified(which)
	}
}

func TestRun_ReportsMessagesUnreadableAfterComparison(t *testing.T) {
	h := newHarness(t)
	h.StartProjector()
	system := uuid.New()
	first, second := projectortest.Call(system, uuid.New()), projectortest.Call(system, uuid.New())
	h.PublishStates(projectortest.PhoneSystem(system), first, second)
	h.publishClaimChecks(transcriptOf(first))
	h.WaitUntilCaughtUp()
	restore := h.deleteObjects()
	h.Database.ClearProjection(t)
	h.WaitUntilCaughtUp()
	h.requireOpenDeadLetters(1)
	result := h.rebuild(onStep(rebuild.StepSwitch, func() {
		restore()
		h.RetryDeadLetters()
		h.publishClaimChecks(transcriptOf(second))
		h.WaitUntilCaughtUp()
		h.deleteObjects()
	}))
	h.requireTranscriptTexts(0)
	if got := len(result.Comparison.Unreadable); got != 2 || !result.Comparison.Differs() {
		t.Errorf("unreadable = %d, differs = %t, want 2 and true", got, result.Comparison.Differs())
	}
}

// A retry that was applied and can no longer be read is reported, and a repair refuses to drop its rows.
func TestRepair_RefusesUnreadableRetry(t *testing.T) {
	h := newHarness(t)
	h.StartProjector()
	h.Exec("alter table projection.transcript_text add constraint test_refusal check (length(text) < 1000)")
	system := h.publishTranscribedCall()
	h.acceptCalls()
	h.RetryDeadLetters()
	h.requireTranscriptTexts(1)
	h.requireOpenDeadLetters(0)
	h.requireVerified("retried")
	before := h.Database.Projection(t)
	h.deleteObjects()
	if result := h.verify(); len(result.Unreadable) != 1 {
		t.Errorf("unreadable = %+v, want one message", result.Unreadable)
	}
	h.requireErrors(system, func(err error) bool { return errors.Is(err, rebuild.ErrUnreadable) }, "repair")
	h.RequireEqualTables("refused repair", before)
}

// The dead letters of an unfinished generation are not those of the previous one.
func TestRollback_DropsUnfinishedRebuild(t *testing.T) {
	h := newHarness(t)
	h.StartProjector()
	h.publishTranscribedCall()
	restore := h.deleteObjects()
	h.rebuild()
	restore()
	h.interruptRebuild(rebuild.StepIndex, 1)
	h.rollback()
	result := h.rebuild()
	h.requireTranscriptTexts(1)
	if result.Resumed || result.Comparison.Differs() {
		t.Errorf("result = %+v, want not resumed, without differences", result)
	}
	h.requireVerified("rebuilt")
}

// After applied, stale, failed, repeated and false retries, all kinds of replays agree with what is served, also
// after a rebuild was killed.
func TestReplay_MixOfRetries(t *testing.T) {
	h := newHarness(t)
	stop := h.StartProjector()
	system := uuid.New()
	h.Exec(refuseCalls)
	stale := refusedCall(system)
	h.PublishStates(projectortest.PhoneSystem(system), stale, refusedCall(system), refusedCall(system))
	h.publishPoison()
	h.WaitUntilCaughtUp()
	h.RetryDeadLetters() // all fail
	stale.Version, stale.CallSid = 2, "CAlater"
	h.Apply(stale)
	stop()
	h.advanceWatermarks()
	stop = h.StartProjector()
	h.RetryDeadLetters() // two fail again, of events from before the watermark
	h.Apply(projectortest.Call(system, uuid.New()))
	h.acceptCalls()
	h.RetryDeadLetters()
	h.PublishRaw(events.Subject(system, events.EntityCall), nats.Header{events.RetryHeader: {"1/2"}}, "{}") // names no dead letter
	h.WaitUntilCaughtUp()
	decisions := func() string {
		return projectortest.QueryOne[string](h.Harness, `
			select string_agg(concat_ws(' ', sequence, state, tries), ', ' order by sequence)
			from control.dead_letter`)
	}
	before := decisions()
	want := h.Database.Projection(t)
	h.requireVerified("live")
	h.interruptRebuild(rebuild.StepIndex, 1)
	h.requireRebuilt()
	h.rollback()
	h.WaitUntilCaughtUp()
	h.requireVerified("rolled back")
	if _, err := rebuild.Repair(t.Context(), h.config(), system); err != nil {
		t.Error(err)
	}
	h.WaitUntilCaughtUp()
	h.RequireEqualTables("repaired", want)
	stop()
	h.RequireReplayEquals(want)
	if got := decisions(); got != before {
		t.Errorf("dead letters = %s, want %s", got, before)
	}
}
