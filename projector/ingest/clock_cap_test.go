package ingest_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

// jump is a stream whose messages have times of the test's own.
type jump struct {
	*env
	system uuid.UUID
	times  []time.Time // of the messages
}

func newJump(t *testing.T) *jump {
	t.Helper()
	return &jump{env: newEnv(t), system: uuid.New()}
}

// store publishes a call for each time at which a message is stored.
func (l *jump) store(times ...time.Time) {
	l.t.Helper()
	for _, at := range times {
		l.publish(call(l.system, "CA"))
		l.times = append(l.times, at)
	}
}

// decoded decodes all messages above a sequence.
func (l *jump) decoded(above uint64, d store.Decisions) []ingest.Decoded {
	l.t.Helper()
	decoder := ingest.Decoder{Decisions: d}
	messages := l.messages(above)
	for i := range messages {
		messages[i].StoredAt = l.times[int(above)+i]
	}
	return decoder.Decode(messages)
}

// receive applies the messages above the position that are received at an instant.
func (l *jump) receive(now time.Time) {
	l.t.Helper()
	decoded := l.decoded(l.applier.Position.Sequence, l.applier.Decoder.Decisions)
	if err := l.applier.Apply(l.t.Context(), decoded, now); err != nil {
		l.t.Fatal(err)
	}
}

// claim starts again from the position in the table, as a projector does after the other one was killed.
func (l *jump) claim() {
	l.t.Helper()
	l.applier.Position = claim(l.t, l.applier.Store, l.stream)
	var err error
	if l.applier.Decoder.Decisions, err = l.applier.Store.Decisions(l.t.Context(), l.applier.Position); err != nil {
		l.t.Fatal(err)
	}
}

// setBack is what a database does that loses everything from before the first commit on.
func (l *jump) setBack() {
	l.t.Helper()
	l.database.ClearProjection(l.t)
	l.exec("delete from projection.position; delete from control.clock_adjustment")
	l.claim()
}

// updatedAt returns the times of the calls in the tables.
func (l *jump) updatedAt() map[uuid.UUID]time.Time {
	l.t.Helper()
	rows, _ := l.owner.Query(l.t.Context(), "select id, updated_at from projection.call_log")
	all := make(map[uuid.UUID]time.Time)
	var id uuid.UUID
	var at time.Time
	if _, err := pgx.ForEachRow(rows, []any{&id, &at}, func() error { all[id] = at.UTC(); return nil }); err != nil {
		l.t.Fatal(err)
	}
	return all
}

// checkReplay folds all messages with the decisions on record, and compares.
func (l *jump) checkReplay() {
	l.t.Helper()
	start := store.Position{Stream: l.applier.Position.Stream}
	decisions, err := l.applier.Store.Decisions(l.t.Context(), start)
	if err != nil {
		l.t.Fatal(err)
	}
	folder := newFolder(start, decisions)
	folder.apply(l.decoded(0, decisions))
	got := make(map[uuid.UUID]time.Time)
	for row := range folder.Changes.State.CallLogs.Rows() {
		got[row.ID] = row.UpdatedAt.Std().UTC()
	}
	if want := l.updatedAt(); !maps.Equal(got, want) {
		l.t.Errorf("updatedAt of a replay = %v, want %v", got, want)
	}
	if got, want := folder.Changes.To.Clock.Now, l.applier.Position.Clock.Now; got != want {
		l.t.Errorf("clock of a replay = %v, want %v", got.Std(), want.Std())
	}
}

// checkCaps compares the recorded caps, without their times.
func (l *jump) checkCaps(want ...fold.ClockAdjustment) {
	l.t.Helper()
	decisions, err := l.applier.Store.Decisions(l.t.Context(), store.Position{Stream: l.applier.Position.Stream})
	if err != nil {
		l.t.Fatal(err)
	}
	caps := slices.DeleteFunc(decisions.ClockAdjustments.List(), func(a fold.ClockAdjustment) bool { return !a.Capped })
	same := len(caps) == len(want)
	for i := 0; same && i < len(caps); i++ {
		same = caps[i].First == want[i].First && caps[i].Last == want[i].Last && caps[i].Messages == want[i].Messages &&
			caps[i].LastStoredAt == events.TimeOf(l.times[caps[i].Last-1])
	}
	if !same {
		l.t.Errorf("caps = %+v, want %+v", caps, want)
	}
}

// checkNotAhead checks that nothing in the tables is ahead of a projector's clock.
func (l *jump) checkNotAhead(now time.Time) {
	l.t.Helper()
	for id, at := range l.updatedAt() {
		if at.After(now) {
			l.t.Errorf("updatedAt of call %s = %v, want %v at the latest", id, at, now)
		}
	}
	if w := l.applier.Position.Clock.Watermark.Std(); w.After(now) {
		l.t.Errorf("watermark = %v, want %v at the latest", w, now)
	}
}

const (
	second = time.Second
	day    = 24 * time.Hour
)

// One message of a busy partition is stored a day ahead: it and those after it count as stored at the projector's time.
func TestApplier_CapsAJumpOfTheStreamsClock(t *testing.T) {
	t.Parallel()
	l, now := newJump(t), time.Date(2026, 5, 2, 10, 0, 0, 0, time.UTC)
	l.store(now.Add(-2*second), now.Add(-second), now.Add(day), now.Add(-second/2))
	l.receive(now)
	l.checkNotAhead(now)
	l.checkCaps(fold.ClockAdjustment{First: 3, Last: 3, Messages: 1})

	l.store(now.Add(second), now.Add(2*second))
	l.receive(now.Add(2 * second))
	l.checkNotAhead(now.Add(2 * second))
	if got, want := l.applier.Position.Clock.Now.Std(), now.Add(2*second); !got.Equal(want) {
		t.Errorf("clock after the jump = %v, want %v", got, want)
	}
	l.checkReplay()
}

// A clock that stays ahead caps every commit, each with one record.
func TestApplier_CapsAClockThatStaysAhead(t *testing.T) {
	t.Parallel()
	l, now := newJump(t), time.Date(2026, 5, 2, 10, 0, 0, 0, time.UTC)
	for range 3 {
		l.store(now.Add(day), now.Add(day), now.Add(day+second))
		l.receive(now)
		l.checkNotAhead(now)
		now = now.Add(5 * second)
	}
	l.store(now.Add(time.Minute)) // within what is accepted
	l.receive(now)
	l.checkCaps(
		fold.ClockAdjustment{First: 1, Last: 3, Messages: 3}, fold.ClockAdjustment{First: 4, Last: 6, Messages: 3}, fold.ClockAdjustment{First: 7, Last: 9, Messages: 3},
	)
	if got, want := l.applier.Position.Clock.Now.Std(), now.Add(time.Minute); !got.Equal(want) {
		t.Errorf("clock after the jump = %v, want %v", got, want)
	}
	l.checkReplay()
}

// Clock adjustments come after caps: a watermark that was published is not taken back by a jump.
func TestApplier_AdjustsACappedClockToTheWatermark(t *testing.T) {
	t.Parallel()
	l, now := newJump(t), time.Date(2026, 5, 2, 10, 0, 0, 0, time.UTC)
	l.store(now)
	l.receive(now)
	to := l.applier.Position
	to.Clock.RaiseWatermark(events.TimeOf(now.Add(10 * second)))
	if err := l.applier.Advance(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	l.store(now.Add(day))
	l.receive(now.Add(5 * second))
	if got, want := l.applier.Position.Clock.Now.Std(), now.Add(10*second); !got.Equal(want) {
		t.Errorf("clock = %v, want that of the watermark, %v", got, want)
	}
	check(t, "clock adjustments", l.queryInt("select count(*) from control.clock_adjustment where not capped and first_sequence = 2"), 1)
	l.checkReplay()
}

// A projector that is killed after a capped commit leaves the cap on record. The next one continues from there.
func TestApplier_ContinuesBehindACap(t *testing.T) {
	t.Parallel()
	l, now := newJump(t), time.Date(2026, 5, 2, 10, 0, 0, 0, time.UTC)
	l.store(now.Add(-second), now.Add(day))
	l.receive(now)
	before := l.updatedAt()
	l.claim()
	l.store(now.Add(second), now.Add(day))
	l.receive(now.Add(2 * second))
	l.checkNotAhead(now.Add(2 * second))
	l.checkCaps(fold.ClockAdjustment{First: 2, Last: 2, Messages: 1}, fold.ClockAdjustment{First: 4, Last: 4, Messages: 1})
	for id, at := range before {
		if got := l.updatedAt()[id]; !got.Equal(at) {
			t.Errorf("updatedAt of call %s = %v, want %v as before the claim", id, got, at)
		}
	}
	l.checkReplay()
}

// A projector that finds caps on record above its position repeats them.
func TestApplier_RepeatsRecordedCaps(t *testing.T) {
	t.Parallel()
	l, now := newJump(t), time.Date(2026, 5, 2, 10, 0, 0, 0, time.UTC)
	l.store(now.Add(-second), now.Add(day), now.Add(day+second))
	l.receive(now)
	want := l.updatedAt()
	l.database.ClearProjection(t)
	l.exec("delete from projection.position")
	l.claim()
	l.receive(now.Add(time.Hour))
	if got := l.updatedAt(); !maps.Equal(got, want) {
		t.Errorf("updatedAt of a second application = %v, want %v", got, want)
	}
	l.checkCaps(fold.ClockAdjustment{First: 2, Last: 3, Messages: 2})
}

// A database that lost the cap gets another one. No row comes before where it was, and the new record is what a
// replay repeats.
func TestApplier_DecidesALostCapAgain(t *testing.T) {
	t.Parallel()
	l, now := newJump(t), time.Date(2026, 5, 2, 10, 0, 0, 0, time.UTC)
	l.store(now.Add(-second), now.Add(day), now.Add(-second/2))
	l.receive(now)
	before := l.updatedAt()
	l.setBack()
	l.store(now.Add(10 * second))
	l.receive(now.Add(20 * second))
	l.checkNotAhead(now.Add(20 * second))
	l.checkCaps(fold.ClockAdjustment{First: 2, Last: 2, Messages: 1})
	after := l.updatedAt()
	for id, at := range before {
		if after[id].Before(at) {
			t.Errorf("updatedAt of call %s = %v, want %v or later", id, after[id], at)
		}
	}
	l.checkReplay()
}

// A clock message that is stored a day ahead gives the watermark of the projector's time, and no record.
func TestFold_CapsTheWatermarkOfAClockMessage(t *testing.T) {
	t.Parallel()
	e, now := newEnv(t), time.Date(2026, 5, 2, 10, 0, 0, 0, time.UTC)
	e.publish(call(uuid.New(), "CA1"))
	for range 2 {
		if _, err := e.js.Publish(t.Context(), events.ClockSubject, nil); err != nil {
			t.Fatal(err)
		}
	}
	decoded := new(ingest.Decoder).Decode(e.messages(0))
	for _, test := range []struct{ ahead, want time.Duration }{{day, 0}, {time.Minute, time.Minute}, {time.Minute + second, 0}, {-second, -second}} {
		decoded[0].StoredAt, decoded[1].StoredAt, decoded[2].StoredAt = now.Add(-2*second), now.Add(test.ahead), now.Add(-2*second)
		changes := ingest.Fold(new(fold.State), e.applier.Position, decoded, store.Decisions{}, nil, events.TimeOf(now))
		if got, want := changes.To.Clock.Watermark.Std(), now.Add(test.want); !got.Equal(want) {
			t.Errorf("watermark of a clock message that is %v ahead = %v, want %v", test.ahead, got, want)
		}
		if list := changes.ClockAdjustments; slices.ContainsFunc(list, func(a fold.ClockAdjustment) bool { return a.Capped }) {
			t.Errorf("adjustments of a clock message that is %v ahead = %+v, want none that is capped", test.ahead, list)
		}
	}
}
