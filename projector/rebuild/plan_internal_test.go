package rebuild

import (
	"testing"

	"github.com/google/uuid"

	"callboard/projector/store"
)

func TestPlanner_DividesWhatIsMoreThanItsShare(t *testing.T) {
	t.Parallel()
	const average = 1 << 10 // bytes of a message
	for _, test := range []struct {
		name           string
		fitting, share int64 // messages
		messages       int64
		slots          int
	}{
		{"the share", 1 << 20, 10_000, 10_000, 0},
		{"above the share", 1 << 20, 10_000, 10_001, 2},
		{"all of the stream, two workers", 1 << 20, 10_000, 40_000, 4},
		{"little memory", 1000, 1000, 40_000, 40},
		{"slots that are smaller than the share", 1 << 20, 1 << 20, 4 << 20, 64},
		{"as many slots as can be merged", 1 << 30, 1 << 28, 1 << 30, maxSlots},
		{"little memory for many messages", 1 << 16, 1 << 16, 1 << 30, 1 << 14},
		{"no memory", 0, 0, 3, 3},
	} {
		p := planner{average: average, fitting: test.fitting, share: test.share}
		if got := p.slots(test.messages, p.share); got != test.slots {
			t.Errorf("%s: slots = %d, want %d", test.name, got, test.slots)
		}
	}
}

func TestPlanner_KeepsAFittingPhoneSystemUndividedWhereItIsFoldedFurther(t *testing.T) {
	t.Parallel()
	p := planner{average: 1 << 10, fitting: 1 << 20, share: 10_000}
	for messages, slots := range map[int64]int{10_001: 0, 1 << 20: 0, 1<<20 + 1: 105} {
		if got := p.slots(messages, p.fitting); got != slots {
			t.Errorf("%d messages: slots = %d, want %d", messages, got, slots)
		}
	}
}

func TestDivide_GivesALargePhoneSystemAPartOfItsOwn(t *testing.T) {
	t.Parallel()
	large, small, smallest := uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}
	parts := divide(store.Position{}, map[uuid.UUID]int64{smallest: 1, large: 100, small: 9}, 10)
	if len(parts) != 2 || parts[0].events != 100 || len(parts[0].systems) != 1 || parts[1].events != 10 || len(parts[1].systems) != 2 {
		t.Errorf("parts = %+v, want one of 100 messages and one of 10", parts)
	}
}
