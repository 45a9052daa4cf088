package projectortest

import (
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"callboard/projector"
)

// Log keeps what a projector logs.
type Log struct {
	mu   sync.Mutex // guards what follows
	text strings.Builder
}

// Write implements [io.Writer].
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// Count is how often something was logged.
func (l *Log) Count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// Has tells whether something was logged.
func (l *Log) Has(text string) bool { return l.Count(text) > 0 }

// Instead makes a projector log here.
func (l *Log) Instead(c *projector.Config) { c.Log = zerolog.New(l) }
