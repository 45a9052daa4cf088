package limit

import "sync"

// breaker says whether the limiter can consult NATS. While it is open, requests are decided at once without NATS.
type breaker struct {
	started chan struct{} // closed when the state is first known
	tripped chan struct{} // has an element after it has opened

	mu     sync.Mutex
	known  bool
	err    error         // why it is open; nil: it is closed
	opened chan struct{} // closed while it is open
}

func newBreaker() *breaker {
	return &breaker{started: make(chan struct{}), tripped: make(chan struct{}, 1), opened: make(chan struct{})}
}

// open opens it, if it is closed, and returns whether it was.
func (b *breaker) open(err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.start()
	if b.err != nil {
		return false
	}
	b.err = err
	close(b.opened)
	select {
	case b.tripped <- struct{}{}:
	default:
	}
	return true
}

// close closes it.
func (b *breaker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.start()
	if b.err != nil {
		b.err, b.opened = nil, make(chan struct{})
	}
}

func (b *breaker) start() {
	if !b.known {
		b.known = true
		close(b.started)
	}
}

// state returns a channel that is closed as soon as the breaker is open, and why it is open now.
func (b *breaker) state() (<-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.opened, b.err
}
