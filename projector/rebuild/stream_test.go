package rebuild_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/projector/ingest"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
)

// contains returns a function that accepts errors with a text.
func contains(text string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), text) }
}

const lostMessages = "was built from another stream than PHONES, or from messages that the stream has lost"

// loseMessages sets the positions of a schema as if the stream had lost ten applied messages of each partition.
func (h *harness) loseMessages(schema string) {
	h.Helper()
	h.Exec("update " + schema + ".position set sequence = sequence + 10, last_message = sequence + 10, last_message_at = clock")
}

// A projector stops at a stream that has lost applied messages, whether it starts before or after the stream has
// grown past its position. A rebuild builds from the stream as it is.
func TestRun_StreamLostMessages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		grown int // messages since the loss
	}{{"noticed at once", 0}, {"noticed after it has grown", 80}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newStoppedHarness(t, sampleEvents(5, 60))
			h.loseMessages("projection")
			system := uuid.New()
			publish := func(calls int) {
				for range calls {
					h.PublishStates(projectortest.Call(system, uuid.New()))
				}
			}
			publish(test.grown)
			h.requireProjectorStops(ingest.StreamRegressed)
			h.requireErrors(system, contains(lostMessages), "verify")
			h.rebuild()
			h.StartProjector()
			publish(20)
			h.WaitUntilCaughtUp()
			h.requireCount("calls", int64(test.grown+20), "select count(*) from projection.call_log where system_id = $1", system)
			h.requireVerified("rebuilt")
		})
	}
}

func TestRun_DoesNotResumeBeyondStream(t *testing.T) {
	t.Parallel()
	h := newStoppedHarness(t, sampleEvents(41, 60))
	h.interruptRebuild(rebuild.StepLoad, 60)
	h.loseMessages(fmt.Sprintf("generation_%d", h.QueryInt("select max(id) from control.generation")))
	if result := h.rebuild(smallBatches); result.Resumed || result.Comparison.Differs() {
		t.Errorf("result = %+v, want not resumed, without differences", result)
	}
	h.requireNoLeftovers()
}

func TestRollback_RefusesLostMessages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ schema, prefix string }{{"generation_1", "generation 1: "}, {"projection", "live generation: "}} {
		t.Run(test.schema, func(t *testing.T) {
			t.Parallel()
			h, stop := newAppliedHarness(t, sampleEvents(43, 10))
			h.rebuild()
			stop()
			h.loseMessages(test.schema)
			h.requireErrors(uuid.Nil, func(err error) bool {
				return strings.HasPrefix(err.Error(), test.prefix) && contains(lostMessages)(err)
			}, "rollback")
		})
	}
}

func TestRepair_RefusesLostMessages(t *testing.T) {
	t.Parallel()
	history := sampleEvents(44, 10)
	h := newStoppedHarness(t, history)
	h.loseMessages("projection")
	before := h.Database.Projection(t)
	h.requireErrors(systemsOf(history)[0], contains(lostMessages), "repair")
	h.RequireEqualTables("refused repair", before)
}

// A generation whose stream loses messages does not follow to positions above its end, does not go live, and is not
// resumed.
func TestRun_StreamLosesMessagesMeanwhile(t *testing.T) {
	t.Parallel()
	h := newStoppedHarness(t, sampleEvents(45, 20))
	h.interruptRebuild(rebuild.StepIndex, 1)
	h.loseMessages("projection")
	if h.rebuild().Resumed {
		t.Error("the generation folded before the loss was resumed")
	}
	config := h.config()
	onStep(rebuild.StepIndex, func() { h.loseMessages("projection") })(&config)
	const shorter = "stream PHONES ends at sequence "
	if _, err := rebuild.Run(t.Context(), config, false); err == nil || !contains(shorter)(err) {
		t.Fatalf("error = %v, want %q", err, shorter)
	}
	next := fmt.Sprintf("generation_%d", h.QueryInt("select max(id) from control.generation"))
	h.requireCount("positions that passed lost messages", 0, "select count(*) from "+next+".position where sequence > $1", h.lastSequence())
	if h.rebuild().Resumed {
		t.Error("the generation that followed lost messages was resumed")
	}
	h.StartProjector()
	h.WaitUntilCaughtUp()
	h.requireVerified("rebuilt")
}

// A dead letter whose retry may be among the messages that the stream has lost is open again. If the stream has the
// retry, another one is stale.
func TestRun_ReopensDeadLettersAfterLostMessages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.Exec(refuseCalls)
	stop := h.StartProjector()
	system := uuid.New()
	h.PublishStates(projectortest.PhoneSystem(system), refusedCall(system), projectortest.Call(system, uuid.New()))
	h.WaitUntilCaughtUp()
	h.acceptCalls()
	h.RetryDeadLetters()
	stop()
	h.loseMessages("projection")
	h.rebuild()
	h.requireOpenDeadLetters(1)
	h.StartProjector()
	h.requireCalls(2)
	h.Exec("update control.dead_letter set failures = failures || '{}'") // the stream still knows the ID of the first try
	h.RetryDeadLetters()
	h.requireCount("stale retries", 1, "select count(*) from control.dead_letter where state = 'stale'")
	h.Exec(refuseCalls + " not valid")
	h.PublishStates(refusedCall(system))
	h.WaitUntilCaughtUp()
	h.acceptCalls()
	h.RetryDeadLetters()
	h.requireCalls(3)
	h.requireOpenDeadLetters(0)
	h.requireVerified("retried")
	h.rebuild()
	h.WaitUntilCaughtUp()
	h.requireVerified("rebuilt again")
}

// A message is identified by its sequence and its time: decisions about lost messages do not apply to messages with
// the same sequences.
func TestRun_IgnoresDeadLettersOfLostMessages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := uuid.New()
	h.PublishStates(projectortest.Call(system, uuid.New()), projectortest.Call(system, uuid.New()), projectortest.Call(system, uuid.New()))
	h.publishPoison()
	stop := h.StartProjector()
	h.WaitUntilCaughtUp()
	stop()
	h.Exec("delete from control.dead_letter")
	h.loseMessages("projection")
	h.insertLostDeadLetter(1, "null")
	h.insertLostDeadLetter(2, "'applied'")
	h.insertLostDeadLetter(4, "null")
	h.rebuild()
	h.requireCalls(3)
	h.requireOpenDeadLetters(4) // 2 of messages that the stream holds
	h.requireCount("dead messages", 2, "select sum(dead)::bigint from projection.message_count")
	h.StartProjector()
	h.WaitUntilCaughtUp()
	h.requireVerified("rebuilt")
}

// insertLostDeadLetter records a dead letter of an older message with the sequence.
func (h *harness) insertLostDeadLetter(sequence uint64, resolution string) {
	h.Helper()
	message, err := h.Stream.GetMsg(h.Context(), sequence)
	if err != nil {
		h.Fatal(err)
	}
	h.Exec(`
		insert into control.dead_letter
		  (stream, sequence, partition, subject, header, data, reason, stored_at, resolution)
		select $1, $2, $3::text::smallint, $4, '', $5, 'lost', $6, `+resolution,
		h.StreamID(), int64(sequence), strings.Split(message.Subject, ".")[1], message.Subject, message.Data,
		message.Time.Add(-time.Minute))
}

// With another partition count, the events of a phone system are in two partitions, and their order is lost.
func TestOperations_RefuseOtherPartitionCount(t *testing.T) {
	t.Parallel()
	history := sampleEvents(46, 10)
	h, _ := newAppliedHarness(t, history)
	h.rebuild()
	h.WaitUntilCaughtUp()
	h.SetPartitions(2 * h.Partitions)
	h.requireErrors(systemsOf(history)[0], contains("has 8 partitions and had 4"), "rebuild", "verify", "repair", "rollback")
}

func TestOperations_RefuseAllowDirect(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.SetAllowDirect(true)
	h.requireErrors(uuid.New(), contains("allow_direct"), "rebuild", "verify", "repair", "rollback")
}

func TestOperations_RefusePurgedStream(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.ReplaceStream(func(c *jetstream.StreamConfig) { c.DenyPurge = false })
	h.StartProjector()
	h.Publish(sampleEvents(19, 50)...)
	h.WaitUntilCaughtUp()
	before := h.Database.Projection(t)
	if err := h.Stream.Purge(t.Context(), jetstream.WithPurgeSequence(5)); err != nil {
		t.Fatal(err)
	}
	h.requireErrors(uuid.Nil, contains("begins at sequence 5"), "rebuild", "verify", "repair")
	h.RequireEqualTables("refused", before)
}

// A stream that was deleted and created again is another one. Only a rebuild accepts it, and there is no rollback
// after it.
func TestRun_ReplacedStream(t *testing.T) {
	t.Parallel()
	h := newStoppedHarness(t, sampleEvents(17, 100))
	h.ReplaceStream()
	history := sampleEvents(18, 100)
	h.Publish(history[:len(history)/2]...)
	h.requireErrors(history[0].System, contains("another stream"), "verify", "repair")
	h.requireProjectorStops(ingest.StreamIdentityChanged)
	h.rebuild()
	h.StartProjector()
	h.Publish(history[len(history)/2:]...)
	h.WaitUntilCaughtUp()
	h.requireVerified("continued with the new stream")
	before := h.Database.Projection(t)
	h.requireErrors(uuid.Nil, contains("another stream"), "rollback")
	h.RequireEqualTables("refused rollback", before)
	h.requireVerified("refused rollback")
}

// The same events in a new stream with more partitions make the same rows, in other partitions. The new generation
// knows their number.
func TestRun_MorePartitions(t *testing.T) {
	t.Parallel()
	history := sampleEvents(17, 50)
	h := newStoppedHarness(t, history)
	h.requireCount("partitions", int64(h.Partitions), "select partitions::bigint from projection.generation")
	h.Partitions *= 4
	h.ReplaceStream()
	h.Publish(history...)
	if !h.rebuild().NewHistory {
		t.Error("the rebuild does not report a new history")
	}
	h.requireCount("partitions", int64(h.Partitions), "select partitions::bigint from projection.generation")
	h.StartProjector()
	h.WaitUntilCaughtUp()
	h.requireVerified("of the new stream")
}

func TestRun_DoesNotResumeForReplacedStream(t *testing.T) {
	t.Parallel()
	h := newStoppedHarness(t, sampleEvents(17, 50))
	h.interruptRebuild(rebuild.StepIndex, 1)
	h.ReplaceStream()
	h.Publish(sampleEvents(18, 50)...)
	h.interruptRebuild(rebuild.StepIndex, 1)
	h.requireCount("generation of the new stream", 3, "select max(id) from control.generation")
	if result := h.rebuild(); !result.Resumed || result.Generation != 3 {
		t.Errorf("resumed = %t, generation = %d, want true, 3", result.Resumed, result.Generation)
	}
	h.StartProjector()
	h.WaitUntilCaughtUp()
	h.requireVerified("of the new stream")
}

// lastSequence returns where the stream ends.
func (h *harness) lastSequence() int64 {
	h.Helper()
	info, err := h.Stream.Info(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	return int64(info.State.LastSeq)
}
