package status_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"callboard/projector/status"
)

func TestRead_DeadLetters(t *testing.T) {
	b := newBench(t)
	long := strings.Repeat("é", 81)
	_, err := b.admin.Exec(t.Context(), `
		insert into control.dead_letter
			(stream, stream_created, sequence, partition, subject, header, data, reason, stored_at, retry_requested_at, resolution)
		select 'PHONES', now(), row_number() over (), 0, 'phones.x.call', '', '', reason, now(), retry_at::timestamptz, resolution
		from (values
			('rare', null, null), ('b', null, null), ('b', 'now', null), ('a', null, null), ('a', null, null),
			($1 || '1', null, null), ($1 || '2', 'now', null), ($1 || '3', null, null),
			('over', null, 'applied'), ('over', null, 'dropped'), ('over', 'now', 'stale'), ('over', null, 'ignored')
		) letters (reason, retry_at, resolution)`, long)
	if err != nil {
		t.Fatal(err)
	}
	report := b.read(t)
	want := []status.Reason{{Reason: long[:2*80], Count: 3}, {Reason: "a", Count: 2}, {Reason: "b", Count: 2}}
	if report.DeadLetters != 8 || report.DeadLettersRetrying != 2 || !slices.Equal(report.DeadLetterReasons, want) {
		t.Errorf("%d, %d, %+v", report.DeadLetters, report.DeadLettersRetrying, report.DeadLetterReasons)
	}
}

func TestRead_Generations(t *testing.T) {
	b := newBench(t)
	before := b.read(t)
	if len(before.Generations) != 1 || *before.Generation != before.Generations[0].ID {
		t.Fatalf("%+v", before)
	}
	live := before.Generations[0]
	if live.State != status.Live || live.SwitchedAt == nil || !live.Current || live.Parts != 0 || len(before.Problems()) != 0 {
		t.Errorf("%+v", live)
	}
	_, err := b.admin.Exec(t.Context(), `
		insert into control.generation (definition, state, switched_at) values
			('other', 'previous', '2026-01-02T00:00:00Z'), ('other', 'dropped', null), ($1, 'building', null)`, b.source().Definition)
	if err == nil {
		_, err = b.admin.Exec(t.Context(), `
			insert into control.generation_part (generation, partition, part, sequence, retry_seq, read)
			select id, partition, 0, 9, 0, case partition when 2 then 0 when 3 then 5 end
			from control.generation, generate_series(0, 3) partition
			where state = 'building'`)
	}
	if err != nil {
		t.Fatal(err)
	}
	after := b.read(t)
	if len(after.Generations) != 3 || *after.Generation != live.ID {
		t.Fatalf("%+v", after.Generations)
	}
	if g := after.Generations[0]; g.State != status.Building || g.SwitchedAt != nil || !g.Current || g.PartsDone != 2 || g.Parts != 4 {
		t.Errorf("%+v", g)
	}
	kept := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	if g := after.Generations[1]; g.State != "previous" || !g.SwitchedAt.Equal(kept) || g.Current {
		t.Errorf("%+v", g)
	}
}

func TestRead_AnotherReleasesGeneration(t *testing.T) {
	b := newBench(t)
	source := b.source()
	source.Definition = []byte("other")
	report, err := source.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if problems := report.Problems(); len(problems) != 1 || !strings.HasSuffix(problems[0], "is of another release: run 'callboard rebuild'") {
		t.Errorf("%q", problems)
	}
}
