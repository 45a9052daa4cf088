package events_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"callboard/events"
)

// Empty lines are skipped, the first invalid one is the last, and the last one of all needs no line break.
func TestReadLines(t *testing.T) {
	const good = `{"type":"callboard.group.deleted","data":{"id":"` + group + `","version":2}}`
	for input, want := range map[string][]int{good: {1}, good + "\n\n  \n" + good + "\nbad\n" + good + "\n": {1, 4, 5}} {
		var numbers []int
		for line := range events.ReadLines(t.Context(), strings.NewReader(input), "test") {
			numbers = append(numbers, line.Number)
			if (line.Err != nil) != (line.Number == 5) {
				t.Errorf("line %d: error = %v, want one in line 5", line.Number, line.Err)
			}
		}
		if !slices.Equal(numbers, want) {
			t.Errorf("lines = %v, want %v", numbers, want)
		}
	}
}

func TestReadLines_ReportsAReadError(t *testing.T) {
	broken := errors.New("broken")
	r, w := io.Pipe()
	w.CloseWithError(broken)
	if line := <-events.ReadLines(t.Context(), r, "test"); !errors.Is(line.Err, broken) {
		t.Errorf("error = %v, want %v", line.Err, broken)
	}
}

// The lines that fit into the channel may be read before the end of the context, and few after it.
func TestReadLines_EndsWithItsContext(t *testing.T) {
	good := `{"type":"callboard.group.deleted","data":{"id":"` + group + `","version":2}}` + "\n"
	ctx, cancel := context.WithCancel(t.Context())
	const all = 1000
	lines := events.ReadLines(ctx, strings.NewReader(strings.Repeat(good, all)), "test")
	cancel()
	read := 0
	for range lines {
		read++
	}
	if read == all {
		t.Errorf("lines after the end of the context = %d, want fewer", read)
	}
}
