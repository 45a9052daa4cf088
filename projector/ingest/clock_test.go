package ingest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

// No event is applied behind the time of a clock message below it, however the messages are batched. A replay,
// which reads no clock messages, repeats the times. Clock messages are not counted.
func TestFold_ClockMessages(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	system := uuid.New()
	for n, at := range []string{"call", "clock", "clock", "call", "clock", "call", "call", "clock"} {
		if at == "call" {
			e.publish(call(system, fmt.Sprintf("CA%d", n)))
		} else if _, err := e.js.Publish(t.Context(), events.ClockSubject, nil); err != nil {
			t.Fatal(err)
		}
	}
	decoded := new(ingest.Decoder).Decode(e.messages(0))
	for i, second := range []int64{10, 20, 19, 15, 30, 29, 31, 40} {
		decoded[i].StoredAt = time.Unix(second, 0)
	}
	whole := ingest.Fold(new(fold.State), e.applier.Position, decoded, store.Decisions{}, nil, 0)
	checkClock(t, "one batch", whole, 10, 20, 30, 31)
	if got := whole.To; got.Sequence != 8 || got.LastMessage != 8 || got.LastMessageAt != 40_000 || got.Clock.Watermark != 40_000 {
		t.Errorf("position = %+v, want the last clock message, at 40 s", got)
	}
	if read := whole.MessageCounts.TotalRead(); read != 4 {
		t.Errorf("messages read = %d, want 4", read)
	}

	single := ingest.Fold(new(fold.State), e.applier.Position, nil, store.Decisions{}, nil, 0)
	var recorded []fold.ClockAdjustment
	for i := range decoded {
		single = ingest.Fold(single.State, single.To, decoded[i:i+1], store.Decisions{}, nil, 0)
		recorded = append(recorded, single.ClockAdjustments...)
	}
	checkClock(t, "a batch for each message", single, 10, 20, 30, 31)
	if !slices.Equal(recorded, whole.ClockAdjustments) || len(recorded) != 2 {
		t.Errorf("adjustments of single messages = %v, want 2, those of the batch: %v", recorded, whole.ClockAdjustments)
	}

	decisions := store.Decisions{Decisions: fold.Decisions{ClockAdjustments: fold.NewClockAdjustments(recorded)}}
	withoutClocks := slices.DeleteFunc(decoded, func(it ingest.Decoded) bool { return it.Subject == events.ClockSubject })
	checkClock(t, "a replay", ingest.Fold(new(fold.State), e.applier.Position, withoutClocks, decisions, nil, 0), 10, 20, 30, 31)
}

// checkClock checks when calls were updated, in seconds.
func checkClock(t *testing.T, what string, changes store.ChangeSet, want ...int64) {
	t.Helper()
	var got []int64
	for row := range changes.State.CallLogs.Rows() {
		got = append(got, int64(row.UpdatedAt)/1000)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s: calls updated at %v s, want %v", what, got, want)
	}
}
