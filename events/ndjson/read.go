package ndjson

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"callboard/events"
)

// Line is a line that was read: an event, or what is wrong with it.
type Line struct {
	Number int // from 1
	Event  events.Event
	Err    error
}

// maxLine is above every event that can be published, escaped as heavily as JSON can be.
const maxLine = 2 * events.MaxBodyBytes

// ahead is how many lines are read while others are published.
const ahead = 256

// Read reads lines until the input ends, a line is bad (which comes last) or ctx ends. Empty lines are none. The channel is
// closed at the end; the goroutine behind it ends then, or with the read that it waits in.
func Read(ctx context.Context, input io.Reader, source string) <-chan Line {
	lines := make(chan Line, ahead)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(input)
		scanner.Buffer(make([]byte, 0, 64<<10), maxLine)
		number := 0
		for scanner.Scan() {
			number++
			text := bytes.TrimSpace(scanner.Bytes())
			if len(text) == 0 {
				continue
			}
			event, err := Decode(text, source)
			if !hand(ctx, lines, Line{Number: number, Event: event, Err: err}) || err != nil {
				return
			}
		}
		if err := scanner.Err(); errors.Is(err, bufio.ErrTooLong) {
			hand(ctx, lines, Line{Number: number + 1, Err: fmt.Errorf("it is longer than %d bytes", maxLine)})
		} else if err != nil {
			hand(ctx, lines, Line{Number: number + 1, Err: err})
		}
	}()
	return lines
}

func hand(ctx context.Context, lines chan<- Line, line Line) bool {
	select {
	case lines <- line:
		return true
	case <-ctx.Done():
		return false
	}
}
