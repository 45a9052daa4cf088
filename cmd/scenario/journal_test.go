package scenario_test

import (
	"strings"
	"sync"
)

// journal is what the reader has logged. Its line on a request is written after the answer is.
type journal struct {
	mutex sync.Mutex
	lines []byte
}

// Write implements [io.Writer].
func (j *journal) Write(line []byte) (int, error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.lines = append(j.lines, line...)
	return len(line), nil
}

func (j *journal) has(text string) bool {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return strings.Contains(string(j.lines), text)
}
