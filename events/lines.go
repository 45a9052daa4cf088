package events

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// Line is a line of the input: an event, or the error that made it unreadable.
type Line struct {
	Number int // from 1
	Event  Event
	Err    error
}

const (
	maxLine   = MaxBodyBytes
	readAhead = 256 // lines in the channel
)

// ReadLines reads events from lines of JSON:
//
//	{"type": "callboard.call.changed", "data": {...}, "system": "...", "id": "...", "time": "..."}
//
// Type and data are required. Without a system, the line belongs to the phone system that its data names.
//
// It reads until the input ends, a line is invalid or ctx ends. An invalid line is the last one. It skips empty
// lines. It closes the channel at the end; its goroutine can outlive ctx only in a call of the input's Read.
func ReadLines(ctx context.Context, input io.Reader, source string) <-chan Line {
	lines := make(chan Line, readAhead)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(input)
		scanner.Buffer(make([]byte, 0, 64<<10), maxLine)
		number := 1

		for ; scanner.Scan(); number++ {
			text := bytes.TrimSpace(scanner.Bytes())
			if len(text) == 0 {
				continue
			}

			event, err := DecodeLine(text, source)
			if !send(ctx, lines, Line{Number: number, Event: event, Err: err}) || err != nil {
				return
			}
		}

		// The input has ended or could not be read, or its last line is too long.
		err := scanner.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("longer than %d bytes", maxLine)
		}
		if err != nil {
			send(ctx, lines, Line{Number: number, Err: err})
		}
	}()

	return lines
}

// send reports whether it sent the line before ctx ended.
func send(ctx context.Context, lines chan<- Line, line Line) bool {
	select {
	case lines <- line:
		return true
	case <-ctx.Done():
		return false
	}
}
