package rebuild_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
)

const successor = "PHONES2"

// createMirror creates a mirror of the stream of events.
func (h *harness) createMirror(change ...func(*jetstream.StreamConfig)) {
	h.Helper()
	config := events.MirrorConfig(successor, events.StreamName, 1, "")
	for _, apply := range change {
		apply(&config)
	}
	if _, err := h.JetStream.CreateStream(h.Context(), config); err != nil {
		h.Fatal(err)
	}
}

func (h *harness) adopt(compare bool) (rebuild.Adoption, error) {
	h.Helper()
	result, err := rebuild.Adopt(h.Context(), h.config(), successor, compare)
	if err == nil {
		if h.Stream, err = h.JetStream.Stream(h.Context(), successor); err != nil {
			h.Fatal(err)
		}
	}
	return result, err
}

// publishUntilStopped publishes a call after the other, each until it is acknowledged, and returns how many when stop is called.
func (h *harness) publishUntilStopped() (stop func() int64) {
	var acknowledged int64
	end := h.Run(func(ctx context.Context) error {
		system := uuid.New()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for ; ctx.Err() == nil; <-tick.C {
			event := events.Changed(projectortest.Call(system, uuid.New()))
			for {
				err := h.Publisher.Publish(context.WithoutCancel(ctx), event)
				if err == nil {
					break
				}
				if !errors.Is(err, jetstream.ErrNoStreamResponse) && !errors.Is(err, nats.ErrNoResponders) {
					return err
				}
			}
			acknowledged++
		}
		return nil
	})
	return func() int64 {
		end()
		return acknowledged
	}
}

// waitForWatermarks waits until the watermark of every partition is above now.
func (h *harness) waitForWatermarks() {
	h.Helper()
	now := time.Now()
	eventstest.Eventually(h, "a watermark above now in every partition", func() bool {
		return h.QueryInt("select count(*) from projection.position where watermark > $1", now) == int64(h.Partitions)
	})
}

// While a mirror takes the place of its origin, publishers wait, no event is lost, and no row gets another time.
func TestAdopt(t *testing.T) {
	t.Parallel()
	h, _ := newAppliedHarness(t, sampleEvents(61, 60))
	h.publishPoison()
	h.createMirror()
	const times = "select string_agg(id || ' ' || updated_at, E'\n' order by id) from projection.call_log where id = any ($1)"
	before := projectortest.Query[uuid.UUID](h.Harness, "select id from projection.call_log")
	want := projectortest.QueryOne[string](h.Harness, times, before)
	stop := h.publishUntilStopped()
	result, err := h.adopt(true)
	if err != nil {
		t.Fatal(err)
	}
	if !result.Adopted || result.Replaced != events.StreamName || result.Comparison == nil || result.Comparison.Differs() {
		t.Errorf("result = %+v, want a new adoption without differences", result)
	}
	h.waitForWatermarks()
	published := stop()
	h.WaitUntilCaughtUp()
	h.requireCount("calls", int64(len(before))+published, "select count(*) from projection.call_log")
	if got := projectortest.QueryOne[string](h.Harness, times, before); got != want {
		t.Errorf("times of earlier calls:\n%s\nwant:\n%s", got, want)
	}
	h.requireCount("dead letters", 2, "select count(*) from control.dead_letter")
	h.requireVerified("adopted")
	if again, err := h.adopt(true); err != nil || again.Adopted {
		t.Errorf("second adoption = %+v, error = %v, want nothing done", again, err)
	}
	// Programs that are still configured with the former stream find the other one, also when the former is gone.
	if err := h.JetStream.DeleteStream(t.Context(), events.StreamName); err != nil {
		t.Fatal(err)
	}
	h.requireRebuilt()
	h.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
	h.WaitUntilCaughtUp()
	h.requireVerified("rebuilt")
}

// An adopted stream can be replaced in turn. A previous generation can become live afterwards.
func TestAdopt_Again(t *testing.T) {
	t.Parallel()
	h, _ := newAppliedHarness(t, sampleEvents(62, 20))
	h.rebuild() // keeps the previous generation
	h.createMirror()
	if _, err := h.adopt(false); err != nil {
		t.Fatal(err)
	}
	h.createMirror(func(c *jetstream.StreamConfig) { c.Name, c.Mirror.Name = "PHONES3", successor })
	if _, err := rebuild.Adopt(t.Context(), h.config(), "PHONES3", true); err != nil {
		t.Fatal(err)
	}
	h.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
	var err error
	if h.Stream, err = h.JetStream.Stream(t.Context(), "PHONES3"); err != nil {
		t.Fatal(err)
	}
	h.WaitUntilCaughtUp()
	h.requireVerified("adopted twice")
	h.rollback()
	h.WaitUntilCaughtUp()
	h.requireVerified("rolled back")
}

// An adoption that was interrupted after any of its steps is continued.
func TestAdopt_Continues(t *testing.T) {
	t.Parallel()
	for name, interrupted := range map[string]func(h *harness) error{
		"after the last clock message": func(h *harness) error {
			config := events.StreamConfig(events.StreamName, h.Partitions, 1)
			config.Subjects = []string{events.ClockSubject}
			_, err := h.JetStream.UpdateStream(h.Context(), config)
			return err
		},
		"when the stream is closed": func(h *harness) error {
			_, err := events.CloseStream(h.Context(), h.JetStream, events.StreamName)
			return err
		},
		"when the mirror is promoted": func(h *harness) error {
			last, err := events.CloseStream(h.Context(), h.JetStream, events.StreamName)
			if err != nil {
				return err
			}
			mirror, err := h.JetStream.Stream(h.Context(), successor)
			if err != nil {
				return err
			}
			eventstest.Eventually(h, "the mirror has all messages", func() bool {
				info, err := mirror.Info(h.Context())
				return err == nil && info.State.LastSeq == last
			})
			_, err = h.JetStream.UpdateStream(h.Context(), events.PromotedConfig(mirror.CachedInfo().Config, h.Partitions))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := newAppliedHarness(t, sampleEvents(63, 10))
			h.createMirror()
			stop := h.publishUntilStopped()
			if err := interrupted(h); err != nil {
				t.Fatal(err)
			}
			if result, err := h.adopt(false); err != nil || !result.Adopted {
				t.Fatalf("result = %+v, error = %v, want a new adoption", result, err)
			}
			h.waitForWatermarks()
			stop()
			h.WaitUntilCaughtUp()
			h.requireVerified("adopted")
		})
	}
}

// A stream that is gone is replaced by one that has every message that was applied.
func TestAdopt_StreamIsGone(t *testing.T) {
	t.Parallel()
	h, stop := newAppliedHarness(t, sampleEvents(64, 20))
	h.createMirror()
	mirror, err := h.JetStream.Stream(t.Context(), successor)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	eventstest.Eventually(t, "the mirror has all messages", func() bool {
		info, err := mirror.Info(t.Context())
		return err == nil && h.QueryInt("select max(sequence) from projection.position") <= int64(info.State.LastSeq)
	})
	if err := h.JetStream.DeleteStream(t.Context(), events.StreamName); err != nil {
		t.Fatal(err)
	}
	if result, err := h.adopt(true); err != nil || !result.Adopted || result.Replaced != "" {
		t.Fatalf("result = %+v, error = %v, want a new adoption", result, err)
	}
	h.StartProjector()
	h.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
	h.WaitUntilCaughtUp()
	h.requireVerified("adopted")
}

// A refused adoption changes nothing.
func TestAdopt_Refuses(t *testing.T) {
	t.Parallel()
	h, _ := newAppliedHarness(t, sampleEvents(65, 10))
	refuse := func(what string, accept func(error) bool, change ...func(*jetstream.StreamConfig)) {
		t.Helper()
		h.createMirror(change...)
		if _, err := h.adopt(true); err == nil || !accept(err) {
			t.Errorf("%s: error = %v", what, err)
		}
		if err := h.JetStream.DeleteStream(t.Context(), successor); err != nil {
			t.Fatal(err)
		}
		h.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
		h.WaitUntilCaughtUp()
	}
	if _, err := h.adopt(true); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("a missing stream: error = %v", err)
	}
	refuse("no mirror", contains("is not a mirror of PHONES"), func(c *jetstream.StreamConfig) {
		c.Mirror, c.Subjects = nil, []string{"elsewhere"}
	})
	refuse("a mirror that starts late", contains("unsafe"), func(c *jetstream.StreamConfig) { c.Mirror.OptStartSeq = 5 })
	refuse("a mirror that forgets", contains("max_age"), func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour })
	changed := projectortest.QueryOne[uuid.UUID](h.Harness, "select id from projection.call_log order by id limit 1")
	h.Exec("update projection.call_log set version = version + 1 where id = $1", changed)
	refuse("other rows", func(err error) bool { return errors.Is(err, rebuild.ErrDiffers) })
	h.Exec("update projection.call_log set version = version - 1 where id = $1", changed)
	h.requireVerified("refused")
}

// An adoption that fails before the mirror is promoted makes the stream take events again.
func TestAdopt_FailsWhileClosed(t *testing.T) {
	t.Parallel()
	h, _ := newAppliedHarness(t, sampleEvents(66, 10))
	h.createMirror()
	ctx, cancel := context.WithCancel(t.Context())
	config := h.config()
	onStep(rebuild.StepSwitch, cancel)(&config)
	if _, err := rebuild.Adopt(ctx, config, successor, false); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	h.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
	h.WaitUntilCaughtUp()
	h.requireVerified("failed")
}

func TestAdopt_NothingWasRead(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.createMirror()
	if _, err := h.adopt(true); err == nil || !contains("no projector has read a stream")(err) {
		t.Errorf("error = %v, want that nothing was read", err)
	}
}
