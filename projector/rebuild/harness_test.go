package rebuild_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/sample"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	eventstest.RunAtOnce(4)
	schematest.RunAndFindLeaks(m, eventstest.IgnoreObjectStoreWatcher(), eventstest.IgnoreSourceRemoval())
}

// harness adds the operations of this package to a stream, a database and projectors. Its test runs beside others.
type harness struct {
	*projectortest.Harness
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	t.Parallel()
	return &harness{projectortest.NewHarness(t)}
}

// newAppliedHarness returns a harness whose projector has applied events. stop stops the projector.
func newAppliedHarness(t *testing.T, history []events.Event) (h *harness, stop func()) {
	t.Helper()
	h = newHarness(t)
	stop = h.StartProjector()
	h.Publish(history...)
	h.WaitUntilCaughtUp()
	return h, stop
}

// newStoppedHarness returns a harness whose projector has applied events and was stopped.
func newStoppedHarness(t *testing.T, history []events.Event) *harness {
	t.Helper()
	h, stop := newAppliedHarness(t, history)
	stop()
	return h
}

func (h *harness) config() rebuild.Config {
	return rebuild.Config{JetStream: h.JetStream, Stream: events.StreamName, Database: h.Pool}
}

// smallBatches makes many transactions.
func smallBatches(c *rebuild.Config) { c.Batch = 50 }

// onStep calls work once, when a step reports its first progress. Other goroutines that report the step wait for it.
func onStep(step rebuild.Step, work func()) func(*rebuild.Config) {
	once := sync.OnceFunc(work)
	return func(c *rebuild.Config) {
		next := c.Progress
		c.Progress = func(p rebuild.Progress) {
			if next != nil {
				next(p)
			}
			if p.Step == step {
				once()
			}
		}
	}
}

// sampleEvents is a history with all entities.
func sampleEvents(seed uint64, calls int) []events.Event {
	until := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	c := sample.New(sample.Config{Seed: seed, Systems: 6, Calls: calls, Days: 20, Until: until})
	return slices.Collect(c.Events())
}

// again returns events as a publisher sends them that has lost their IDs: the stream stores them once more.
func again(history []events.Event) []events.Event {
	history = slices.Clone(history)
	for i := range history {
		history[i].ID = ""
	}
	return history
}

// systemsOf returns the phone systems of a history.
func systemsOf(history []events.Event) (list []uuid.UUID) {
	for _, e := range history {
		if e.Entity == events.EntityPhoneSystem && !e.Deleted() {
			list = append(list, e.System)
		}
	}
	return list
}

// publishPoison publishes two messages that cannot be decoded.
func (h *harness) publishPoison() {
	h.Helper()
	h.PublishRaw("phones.7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10.call", nil, "{")
	h.PublishRaw("phones.nobody.fax", nil, "")
}

func (h *harness) rebuild(change ...func(*rebuild.Config)) rebuild.Result {
	h.Helper()
	config := h.config()
	for _, apply := range change {
		apply(&config)
	}
	result, err := rebuild.Run(h.Context(), config, true)
	if err != nil {
		h.Fatal(err)
	}
	return result
}

// requireRebuilt rebuilds the projection and requires that nothing changes.
func (h *harness) requireRebuilt(change ...func(*rebuild.Config)) rebuild.Result {
	h.Helper()
	want := h.Database.Projection(h.TB)
	result := h.rebuild(change...)
	if result.Comparison.Differs() {
		h.Errorf("comparison = %+v, want no difference", result.Comparison)
	}
	h.RequireEqualTables("rebuilt", want)
	return result
}

func (h *harness) rollback() rebuild.Result {
	h.Helper()
	result, err := rebuild.Rollback(h.Context(), h.config())
	if err != nil {
		h.Fatal(err)
	}
	return result
}

func (h *harness) verify() rebuild.Comparison {
	h.Helper()
	result, err := rebuild.Verify(h.Context(), h.config(), uuid.NullUUID{})
	if err != nil {
		h.Fatal(err)
	}
	return result
}

// requireVerified fails the test if the live projection differs from the stream.
func (h *harness) requireVerified(when string) {
	h.Helper()
	if result := h.verify(); result.Differs() {
		h.Errorf("%s: comparison = %+v, want no difference", when, result)
	}
}

// requireErrors requires of every operation an error that want accepts.
func (h *harness) requireErrors(system uuid.UUID, want func(error) bool, operations ...string) {
	h.Helper()
	for _, operation := range operations {
		var err error
		switch operation {
		case "rebuild":
			_, err = rebuild.Run(h.Context(), h.config(), false)
		case "verify":
			_, err = rebuild.Verify(h.Context(), h.config(), uuid.NullUUID{})
		case "repair":
			_, err = rebuild.Repair(h.Context(), h.config(), system)
		case "rollback":
			_, err = rebuild.Rollback(h.Context(), h.config())
		}
		if err == nil || !want(err) {
			h.Errorf("%s: error = %v", operation, err)
		}
	}
}

// callSIDRefused is refused by the constraint of refuseCalls.
const callSIDRefused = "CArefused"

// refuseCalls makes PostgreSQL refuse the calls of refusedCall.
const refuseCalls = "alter table projection.call_log add constraint test_refusal check (call_sid <> '" + callSIDRefused + "')"

func refusedCall(system uuid.UUID) *events.Call {
	c := projectortest.Call(system, uuid.New())
	c.CallSid = callSIDRefused
	return c
}

// acceptCalls drops the constraint of refuseCalls in every schema.
func (h *harness) acceptCalls() {
	h.Helper()
	h.Exec(`do $$ declare t regclass; begin
		for t in select conrelid::regclass from pg_constraint where conname = 'test_refusal' loop
			execute format('alter table %s drop constraint test_refusal', t);
		end loop;
	end $$`)
}

// requireCount compares the only column of a query's only row with want.
func (h *harness) requireCount(what string, want int64, query string, parameters ...any) {
	h.Helper()
	if got := h.QueryInt(query, parameters...); got != want {
		h.Errorf("%s = %d, want %d", what, got, want)
	}
}

func (h *harness) requireOpenDeadLetters(want int64) {
	h.Helper()
	h.requireCount("open dead letters", want, "select count(*) from control.dead_letter where resolution is null")
}

func (h *harness) requireCalls(want int64) {
	h.Helper()
	h.requireCount("calls", want, "select count(*) from projection.call_log")
}

func (h *harness) requireTranscriptTexts(want int64) {
	h.Helper()
	h.requireCount("transcript texts", want, "select count(*) from projection.transcript_text")
}

// waitForWatermarks waits until the watermark of every partition is above now.
func (h *harness) waitForWatermarks() {
	h.Helper()
	now := time.Now()
	eventstest.Eventually(h, "a watermark above now in every partition", func() bool {
		return h.QueryInt("select count(*) from projection.position where watermark > $1", now) == int64(h.Partitions)
	})
}
