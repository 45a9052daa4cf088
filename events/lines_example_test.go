package events_test

import (
	"context"
	"fmt"
	"strings"

	"callboard/events"
)

func ExampleReadLines() {
	input := strings.NewReader(`
{"type": "callboard.phone-system.changed", "data": {"id": "7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10", "version": 1, "name": "Harbor Dental"}}
{"type": "callboard.phone-system.changed", "data": {"id": "7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10", "version": 2}}
`)
	for line := range events.ReadLines(context.Background(), input, "/import") {
		if line.Err != nil {
			fmt.Printf("line %d: %v\n", line.Number, line.Err)
			continue
		}
		fmt.Printf("line %d: %s, publish to %s\n", line.Number, line.Event.Type(), events.Subject(line.Event.System, line.Event.Entity))
	}
	// Output:
	// line 2: callboard.phone-system.changed, publish to phones.7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10.phone-system
	// line 3: /data/name: is required
}
