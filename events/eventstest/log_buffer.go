package eventstest

import (
	"strings"
	"sync"
)

// LogBuffer is an [io.Writer] that keeps a program's log for assertions. Its zero value is empty and ready. It is
// safe for concurrent use.
type LogBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements [io.Writer].
func (b *LogBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

// String returns everything that was logged.
func (b *LogBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Count returns how often the text occurs in the log.
func (b *LogBuffer) Count(text string) int { return strings.Count(b.String(), text) }

// Contains reports whether the text occurs in the log.
func (b *LogBuffer) Contains(text string) bool { return strings.Contains(b.String(), text) }
