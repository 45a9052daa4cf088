package projector_test

import (
	"strings"
	"sync"

	"github.com/rs/zerolog"
)

// memory keeps what a projector logs.
type memory struct {
	mu    sync.Mutex
	lines strings.Builder
}

func newLog() *memory { return new(memory) }

func (m *memory) logger() zerolog.Logger { return zerolog.New(m) }

// Write implements [io.Writer].
func (m *memory) Write(line []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lines.Write(line)
}

func (m *memory) has(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Contains(m.lines.String(), text)
}
