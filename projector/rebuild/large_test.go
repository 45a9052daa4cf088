package rebuild_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/sample"
	"callboard/projector/rebuild"
	"callboard/schema/schematest"
)

// largeSystem is the history of one phone system, which needs many times the memory of smallParts.
func largeSystem() []events.Event {
	c := sample.New(sample.Config{Seed: 3, Systems: 1, Calls: 120, Days: 20, Until: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)})
	return slices.Collect(c.Events())
}

// onFolded calls work once, after the first messages of a part were folded.
func onFolded(work func()) func(*rebuild.Config) {
	once := sync.OnceFunc(work)
	return func(c *rebuild.Config) {
		c.Progress = func(p rebuild.Progress) {
			if p.Step == rebuild.StepFold && p.Part.Done > 0 {
				once()
			}
		}
	}
}

// limited verifies with little memory.
func (h *harness) limited(change ...func(*rebuild.Config)) rebuild.Comparison {
	h.Helper()
	config := h.config()
	for _, apply := range append(change, smallParts) {
		apply(&config)
	}
	result, err := rebuild.Verify(h.Context(), config)
	if err != nil {
		h.Fatal(err)
	}
	return result
}

// requireNoSpool fails the test if the folder of the spools has anything.
func (h *harness) requireNoSpool(when string) {
	h.Helper()
	entries, err := os.ReadDir(h.spool)
	if err != nil || len(entries) > 0 {
		h.Errorf("%s: files = %v, %v, want none", when, entries, err)
	}
}

func TestVerify_LargePhoneSystemWhileItsEventsArrive(t *testing.T) {
	t.Parallel()
	history := largeSystem()
	half := len(history) / 2
	h, _ := newAppliedHarness(t, history[:half])
	result := h.limited(onFolded(func() {
		if n := len(spools(t, h.spool)); n != 1 {
			t.Errorf("folders = %d, want 1", n)
		}
		h.Publish(history[half:]...)
		h.WaitUntilCaughtUp()
	}))
	if result.Differs() || result.Rows == 0 {
		t.Errorf("comparison = %+v, want rows without differences", result)
	}
	h.requireNoSpool("verified")
	if result := h.limited(); result.Differs() {
		t.Errorf("caught up: comparison = %+v, want no difference", result)
	}
}

func spools(t *testing.T, folder string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Error(err)
	}
	return entries
}

// With little memory, a verification reports what one with enough memory does, and a repair corrects the same rows.
func TestRepair_LargePhoneSystem(t *testing.T) {
	schematest.NeedOneServer(t, "it deletes rows by their place")
	t.Parallel()
	history := largeSystem()
	system, most := history[0].System, len(history)*3/4
	if system == uuid.Nil {
		system = systemsOf(history)[0]
	}
	h := newStoppedHarness(t, append(history[:most:most], sampleEvents(11, 30)...))
	for _, table := range []string{"call_log", "extension", "recording", "day_count"} {
		h.Exec(fmt.Sprintf("delete from projection.%[1]s where ctid = (select min(ctid) from projection.%[1]s where system_id = '%[2]s')", table, system))
	}
	h.Exec(fmt.Sprintf("update projection.call_log set outcome = 'x' where id = (select max(id::text)::uuid from projection.call_log where system_id = '%s')", system))
	h.Exec("update projection.message_count set read = read + 1 where entity = 'call'")
	want := sorted(h.verify())
	if got := sorted(h.limited()); !reflect.DeepEqual(got, want) {
		t.Errorf("with little memory: comparison = %+v, want %+v", got, want)
	}
	if len(want.Changes) != 6 {
		t.Errorf("changes = %v, want those of 4 missing rows, 1 changed row and the message counts", want.Changes)
	}
	h.Exec("update projection.message_count set read = read - 1 where entity = 'call'")

	h.StartProjector()
	config := h.config()
	onFolded(func() {
		h.Publish(history[most:]...)
		h.WaitUntilCaughtUp()
	})(&config)
	smallParts(&config)
	result, err := rebuild.Repair(t.Context(), config, system, 0)
	if err != nil {
		t.Fatal(err)
	}
	ofSystem := 0
	for _, e := range history {
		if e.System == system {
			ofSystem++
		}
	}
	if result.Messages != int64(ofSystem) || result.Rows == 0 {
		t.Errorf("messages = %d, rows = %d, want %d messages, those that arrived meanwhile among them, and rows", result.Messages, result.Rows, ofSystem)
	}
	h.requireNoSpool("repaired")
	h.waitUntilCorrected()
	if result := h.limited(); result.Differs() {
		t.Errorf("repaired: comparison = %+v, want no difference", result)
	}
	h.requireVerified("repaired")
}

func TestRepair_RefusesAPhoneSystemAboveTheLimit(t *testing.T) {
	t.Parallel()
	history := sampleEvents(11, 30)
	h := newStoppedHarness(t, history)
	for _, system := range systemsOf(history)[:1] {
		if _, err := rebuild.Repair(t.Context(), h.config(), system, 1); !errors.Is(err, rebuild.ErrTooLarge) {
			t.Errorf("error = %v, want %v", err, rebuild.ErrTooLarge)
		}
		if _, err := rebuild.Repair(t.Context(), h.config(), system, int64(len(history))); err != nil {
			t.Errorf("error = %v, want none at the limit", err)
		}
	}
}

func TestSpool_IsDeletedAfterAnError(t *testing.T) {
	t.Parallel()
	history := sampleEvents(11, 50)
	h := newStoppedHarness(t, history)
	for name, operation := range map[string]func(context.Context, rebuild.Config) error{
		"verify": func(ctx context.Context, c rebuild.Config) error { _, err := rebuild.Verify(ctx, c); return err },
		"repair": func(ctx context.Context, c rebuild.Config) error {
			_, err := rebuild.Repair(ctx, c, systemsOf(history)[0], 0)
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		config := h.config()
		onFolded(func() {
			if len(spools(t, h.spool)) != 1 {
				t.Errorf("%s: no spool while it runs", name)
			}
			cancel()
		})(&config)
		smallParts(&config)
		if err := operation(ctx, config); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error = %v, want %v", name, err, context.Canceled)
		}
		h.requireNoSpool(name)
	}
}
