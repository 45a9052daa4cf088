package limit

import (
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// minOutage is how long an outage lasts at least: a server at the edge of its strength would otherwise fill the log.
const minOutage = time.Second

// outage logs when something stops working and when it works again. Both its methods may be called for every request.
type outage struct {
	log   zerolog.Logger
	what  string
	since atomic.Pointer[time.Time] // nil: it works
}

func newOutage(log zerolog.Logger, what string) *outage { return &outage{log: log, what: what} }

func (o *outage) begin(err error) {
	now := time.Now()
	if o.since.CompareAndSwap(nil, &now) {
		o.log.Warn().Err(err).Msg(o.what + " not available")
	}
}

func (o *outage) end() {
	since := o.since.Load()
	if since == nil || time.Since(*since) < minOutage {
		return
	}
	if o.since.CompareAndSwap(since, nil) {
		o.log.Info().Dur("after", time.Since(*since)).Msg(o.what + " available again")
	}
}
