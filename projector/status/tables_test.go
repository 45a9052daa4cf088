package status_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"callboard/projector/status"
)

func TestRead_DeadLetters(t *testing.T) {
	h := newHarness(t)
	long := strings.Repeat("é", 81)
	h.Exec(`
		insert into control.dead_letter
			(stream, sequence, partition, subject, header, data, reason, stored_at, retried_at, resolution)
		select '00000000-0000-4000-8000-00000000000a', row_number() over (), 0, 'phones.x.call', '', '', reason, now(), retried_at::timestamptz, resolution
		from (values
			('rare', null, null), ('b', null, null), ('b', 'now', null), ('a', null, null), ('a', null, null),
			($1 || '1', null, null), ($1 || '2', 'now', null), ($1 || '3', null, null),
			('over', null, 'applied'), ('over', null, 'dropped'), ('over', 'now', 'stale'), ('over', null, 'ignored')
		) dead_letters (reason, retried_at, resolution)`, long)
	report := h.read()
	want := []status.Reason{{Reason: long[:2*80], Count: 3}, {Reason: "a", Count: 2}, {Reason: "b", Count: 2}}
	if report.DeadLetters != 8 || report.DeadLettersRetrying != 2 || !slices.Equal(report.DeadLetterReasons, want) {
		t.Errorf("dead letters = %d, retrying = %d, reasons = %+v, want 8, 2, %+v", report.DeadLetters, report.DeadLettersRetrying, report.DeadLetterReasons, want)
	}
}

func TestRead_Generations(t *testing.T) {
	h := newHarness(t)
	before := h.read()
	if len(before.Generations) != 1 || *before.Generation != before.Generations[0].ID {
		t.Fatalf("generations = %+v, want one, the live one", before.Generations)
	}
	live := before.Generations[0]
	if live.State != status.Live || live.SwitchedAt == nil || !live.Current || len(before.Problems()) != 0 {
		t.Errorf("generation = %+v, want it live and current", live)
	}
	h.Exec(`
		insert into control.generation (definition, state, switched_at) values
			('other', 'previous', '2026-01-02T00:00:00Z'), ('other', 'dropped', null), ($1, 'building', null)`, h.source().Definition)
	after := h.read()
	if len(after.Generations) != 3 || *after.Generation != live.ID {
		t.Fatalf("generations = %+v, want 3", after.Generations)
	}
	if g := after.Generations[0]; g.State != status.Building || g.SwitchedAt != nil || !g.Current {
		t.Errorf("generation = %+v, want it building", g)
	}
	switched := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	if g := after.Generations[1]; g.State != "previous" || !g.SwitchedAt.Equal(switched) || g.Current {
		t.Errorf("generation = %+v, want it previous, switched at %s", g, switched)
	}
}

func TestRead_GenerationOfAnotherRelease(t *testing.T) {
	h := newHarness(t)
	source := h.source()
	source.Definition = []byte("other")
	if problems := h.readFrom(source).Problems(); len(problems) != 1 || !strings.HasSuffix(problems[0], "was built by another release: run 'callboard rebuild'") {
		t.Errorf("problems = %q, want one about the generation", problems)
	}
}

func TestOldestWatermarkAge(t *testing.T) {
	h := newHarness(t)
	if age, err := status.OldestWatermarkAge(t.Context(), h.operator); err == nil {
		t.Errorf("age without a position = %s, want an error", age)
	}
	h.insertPosition(1, 1)
	h.insertPosition(2, 1)
	h.Exec("update projection.position set watermark = now() - interval '1 hour' * (partition - 1)")
	if age, err := status.OldestWatermarkAge(t.Context(), h.operator); err != nil || age < time.Hour || age > 2*time.Hour {
		t.Errorf("age = %s, error = %v, want an hour", age, err)
	}
}
