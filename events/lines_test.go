package events_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"callboard/events"
)

const lineGroup = "0b9f5d0e-2a43-4a0e-8a53-5c1b9c0d1e2f"

func TestReadLines_StopsAtTheFirstInvalidLine(t *testing.T) {
	good := `{"type":"callboard.group.deleted","data":{"id":"` + lineGroup + `","version":2}}`
	input := strings.NewReader(good + "\n\n  \n" + good + "\nbad\n" + good + "\n")
	var numbers []int
	var last error
	for line := range events.ReadLines(t.Context(), input, "test") {
		numbers = append(numbers, line.Number)
		last = line.Err
	}
	if len(numbers) != 3 || numbers[1] != 4 || numbers[2] != 5 || last == nil {
		t.Errorf("lines = %v, last error = %v, want lines 1, 4 and 5 and an error", numbers, last)
	}
}

func TestReadLines_LastLineWithoutLineBreak(t *testing.T) {
	input := strings.NewReader(`{"type":"callboard.group.deleted","data":{"id":"` + lineGroup + `","version":2}}`)
	var got []events.Line
	for line := range events.ReadLines(t.Context(), input, "test") {
		got = append(got, line)
	}
	if len(got) != 1 || got[0].Err != nil {
		t.Errorf("lines = %+v, want one without an error", got)
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
	good := `{"type":"callboard.group.deleted","data":{"id":"` + lineGroup + `","version":2}}` + "\n"
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
