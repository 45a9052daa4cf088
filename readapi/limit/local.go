package limit

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// local counts what this reader allows by itself while NATS can't be asked, in windows that begin with a key's first request.
type local struct {
	mu     sync.Mutex
	window time.Duration
	spent  map[uuid.UUID]spell // by lineage
}

// spell is a key's window.
type spell struct {
	permits int
	ends    time.Time
}

func newLocal(window time.Duration) *local {
	return &local{window: window, spent: make(map[uuid.UUID]spell)}
}

// take takes a permit from the bucket's quota. False: there was none.
func (l *local) take(lineage uuid.UUID, b bucket, now time.Time) (standing, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.spent[lineage]
	if !ok || !now.Before(s.ends) {
		s = spell{ends: now.Add(l.window)}
	}
	taken := s.permits < b.quota
	if taken {
		s.permits++
		l.spent[lineage] = s
	}
	return standing{bucket: b, remaining: max(0, b.quota-s.permits), opens: s.ends}, taken
}

// sweep forgets windows that are over.
func (l *local) sweep(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for lineage, s := range l.spent {
		if !now.Before(s.ends) {
			delete(l.spent, lineage)
		}
	}
}
