package rebuild_test

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/projectortest"
)

// callLoad publishes calls of phone systems in turn, until it is stopped.
type callLoad struct {
	*harness
	systems []uuid.UUID
	stop    func()

	publishing   sync.Mutex // held while a call is published
	acknowledged atomic.Int64
}

func (h *harness) startCallLoad(systems ...uuid.UUID) *callLoad {
	h.Helper()
	l := &callLoad{harness: h, systems: systems}
	l.stop = eventstest.Run(h, func(ctx context.Context) error {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
				l.publish(l.systems[i%len(l.systems)])
			}
		}
	})
	return l
}

// publish returns once the stream has stored a call. It may be called from any goroutine.
func (l *callLoad) publish(system uuid.UUID) {
	l.publishing.Lock()
	defer l.publishing.Unlock()
	l.publishCall(system)
}

// publishCall publishes a call. The caller holds publishing.
func (l *callLoad) publishCall(system uuid.UUID) {
	if err := l.Publisher.Publish(l.Context(), events.Changed(projectortest.Call(system, uuid.New()))); err != nil {
		l.Errorf("publish: %v", err)
		return
	}
	l.acknowledged.Add(1)
}
