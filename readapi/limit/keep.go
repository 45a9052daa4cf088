package limit

import (
	"context"
	"time"
)

const (
	// keepInterval is how often the streams are looked up: a stream that NATS lost with its memory is back before anybody asks,
	// and the server's clock is read anew.
	keepInterval = 10 * time.Second

	// keepPause is how long nobody looks after a lookup, however many requests find no stream.
	keepPause = 10 * time.Millisecond
)

// keep sees to the streams, and to it that what is over is forgotten, until ctx ends.
func (l *Limiter) keep(ctx context.Context) {
	ticker := time.NewTicker(keepInterval)
	defer ticker.Stop()
	for {
		l.sweep(time.Now())
		for _, ledger := range []*ledger{l.standard, l.premium} {
			l.prepare(ctx, ledger)
		}
		if !pause(ctx, keepPause) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-l.missing:
		}
	}
}

// prepare prepares a ledger. Without a connection it leaves that to the first request that finds no stream.
func (l *Limiter) prepare(ctx context.Context, ledger *ledger) {
	if !l.wire.conn.IsConnected() {
		return
	}
	err := ledger.prepare(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		ledger.trouble.begin(err)
	default:
		ledger.trouble.end()
	}
}

func (l *Limiter) sweep(now time.Time) {
	l.gates.sweep(now)
	l.local.sweep(now)
	l.wire.sweep(now)
}
