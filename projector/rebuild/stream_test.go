package rebuild_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/eventstest"
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

// An unfinished generation is not resumed if the stream has lost what it or the live one was built from, or if the
// stream is another one.
func TestRun_DoesNotResumeAfterLoss(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(h *harness){
		"messages of the unfinished one": func(h *harness) {
			h.loseMessages(fmt.Sprintf("generation_%d", h.QueryInt("select max(id) from control.generation")))
		},
		"messages of the live one": func(h *harness) { h.loseMessages("projection") },
		"the stream": func(h *harness) {
			h.ReplaceStream()
			h.Publish(sampleEvents(18, 20)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newStoppedHarness(t, sampleEvents(41, 60))
			h.interruptRebuild(rebuild.StepIndex, 1)
			change(h)
			if h.rebuild(smallBatches).Resumed {
				t.Error("the generation from before the loss was resumed")
			}
			h.requireNoLeftovers()
			h.StartProjector()
			h.WaitUntilCaughtUp()
			h.requireVerified("rebuilt")
		})
	}
}

// A generation whose stream loses messages does not follow to positions above its end, does not go live, and is not
// resumed.
func TestRun_StreamLosesMessagesMeanwhile(t *testing.T) {
	h := newStoppedHarness(t, sampleEvents(45, 20))
	config := h.config()
	onStep(rebuild.StepIndex, func() { h.loseMessages("projection") })(&config)
	const shorter = "stream PHONES ends at sequence "
	if _, err := rebuild.Run(t.Context(), config, false); err == nil || !contains(shorter)(err) {
		t.Fatalf("error = %v, want %q", err, shorter)
	}
	info, err := h.Stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	passed := fmt.Sprintf("select count(*) from generation_%d.position where sequence > $1",
		h.QueryInt("select max(id) from control.generation"))
	h.requireCount("positions that passed lost messages", 0, passed, int64(info.State.LastSeq))
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
	h := newHarness(t)
	h.Exec(refuseCalls)
	stop := h.StartProjector()
	system := uuid.New()
	h.Apply(projectortest.PhoneSystem(system), refusedCall(system), projectortest.Call(system, uuid.New()))
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
	h.Apply(refusedCall(system))
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

// With another partition count, the events of a phone system are in two partitions, and their order is lost. A replica
// that lags must not answer. What was built from lost messages, or from another stream, is not compared, and neither
// replaced in parts nor served again.
func TestOperations_RefuseStream(t *testing.T) {
	history := sampleEvents(46, 10)
	h, stop := newAppliedHarness(t, history)
	h.rebuild()
	h.WaitUntilCaughtUp()
	stop()
	before := h.Database.Projection(t)
	h.Exec("create table public.saved as table projection.position")
	restore := func() {
		h.Exec("delete from projection.position; insert into projection.position table public.saved")
	}
	nothing := func() {}
	all := []string{"rebuild", "verify", "repair", "rollback"}
	for _, c := range []struct {
		name         string
		change, undo func()
		want         string
		operations   []string
	}{
		{"partitions", func() { h.SetPartitions(8) }, func() { h.SetPartitions(4) }, "has 8 partitions and had 4", all},
		{"direct reads", func() { h.SetAllowDirect(true) }, func() { h.SetAllowDirect(false) }, "allow_direct", all},
		{"lost", func() { h.loseMessages("projection") }, nothing, lostMessages, []string{"verify", "repair"}},
		{"lost by the live one", nothing, restore, "live generation: ", []string{"rollback"}},
		{
			"lost by the previous one", func() { h.loseMessages("generation_1") }, nothing,
			"generation 1: ", []string{"rollback"},
		},
		{"replaced", func() { h.ReplaceStream() }, nothing, lostMessages, []string{"verify", "repair", "rollback"}},
	} {
		c.change()
		h.requireErrors(systemsOf(history)[0], contains(c.want), c.operations...)
		h.RequireEqualTables(c.name, before)
		c.undo()
	}
}

func TestOperations_RefusePurgedStream(t *testing.T) {
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

// A stream that was deleted and created again is another one, here with more partitions. A rebuild accepts it, and a
// projector continues. There is no rollback after it.
func TestRun_ReplacedStream(t *testing.T) {
	h := newStoppedHarness(t, sampleEvents(17, 50))
	const partitions = "select partitions::bigint from projection.generation"
	h.requireCount("partitions", int64(h.Partitions), partitions)
	h.Partitions *= 4
	h.ReplaceStream()
	history := sampleEvents(18, 100)
	h.Publish(history[:len(history)/2]...)
	h.requireProjectorStops(ingest.StreamIdentityChanged)
	if !h.rebuild().NewHistory {
		t.Error("the rebuild does not report a new history")
	}
	h.requireCount("partitions", int64(h.Partitions), partitions)
	h.StartProjector()
	h.Publish(history[len(history)/2:]...)
	h.WaitUntilCaughtUp()
	before := h.Database.Projection(t)
	h.requireErrors(uuid.Nil, contains(lostMessages), "rollback")
	h.RequireEqualTables("refused rollback", before)
	h.requireVerified("continued with the new stream")
}

// requireProjectorStops requires that a projector stops every partition for a reason.
func (h *harness) requireProjectorStops(reason string) {
	h.Helper()
	log := new(eventstest.LogBuffer)
	stop := h.StartProjector(projectortest.LogTo(log))
	stopped := func() bool { return log.Count(reason) >= h.Partitions }
	eventstest.Eventually(h.TB, "every partition stopped: "+reason, stopped)
	stop()
}
