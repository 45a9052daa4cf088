package limit

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ledger is where the permits of one tier are kept: a stream.
type ledger struct {
	js      jetstream.JetStream
	stream  jetstream.StreamConfig
	direct  string // the subject of enquiries
	tier    int    // permits a window
	report  int    // permits a window, of each report operation
	weights weights
	clock   atomic.Pointer[clock]
	unfit   atomic.Bool // the stream was looked at, and doesn't count
	trouble *outage     // of the stream
}

// prepareTime is how long a stream may take to be found or made. A question that is lost with its connection is asked again
// after that long.
const prepareTime = 2 * time.Second

// newLedger is the ledger of an allowance.
func newLedger(c Config, tier int) (*ledger, error) {
	w, err := weigh(tier, c.Report)
	if err != nil {
		return nil, err
	}
	l := &ledger{js: c.JetStream, stream: streamConfig(tier, c.Report, w, c.window), tier: tier, report: c.Report, weights: w}
	l.direct = apiPrefix(c.JetStream.Options()) + "DIRECT.GET." + l.stream.Name
	l.trouble = newOutage(c.Log.With().Str("stream", l.stream.Name).Logger(), "the stream of rate limits")
	now := time.Now()
	l.clock.Store(&clock{server: now, here: now})
	return l, nil
}

// apiPrefix begins the subjects of requests to JetStream.
func apiPrefix(o jetstream.JetStreamOptions) string {
	switch {
	case o.APIPrefix != "":
		return strings.TrimSuffix(o.APIPrefix, ".") + "."
	case o.Domain != "":
		return "$JS." + o.Domain + ".API."
	}
	return jetstream.DefaultAPIPrefix
}

func (l *ledger) subject(lineage, name string) string {
	return subject(l.tier, l.report, lineage, name)
}

// buckets are those that a request is counted in.
func (l *ledger) buckets(a Request) []bucket {
	lineage := a.Lineage.String()
	var buckets []bucket
	if a.Report != "" {
		buckets = append(buckets, l.bucket(reportPolicy, l.subject(lineage, a.Report), l.weights.report))
	}
	return append(buckets, l.bucket(tierPolicy, l.subject(lineage, tierPolicy), l.weights.tier))
}

// bucket has a quota of what its subject holds: where the tier's allowance is the smaller one, a report operation has no more.
func (l *ledger) bucket(policy, subject string, weight int) bucket {
	return bucket{policy: policy, quota: l.weights.size / weight, subject: subject, weight: weight, size: l.weights.size}
}

// prepare looks the stream up, or makes it where it is missing, and reads the server's clock. A stream that is there is not
// changed: an operator may want more replicas of it. One that doesn't count is not asked until it does.
func (l *ledger) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	asked := time.Now()
	stream, err := l.js.Stream(ctx, l.stream.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		asked = time.Now()
		stream, err = l.js.CreateStream(ctx, l.stream)
	}
	if err != nil {
		return err
	}
	info := stream.CachedInfo()
	took := time.Since(asked)
	l.clock.Store(&clock{server: info.TimeStamp, here: asked.Add(took / 2)})
	err = CheckStream(info.Config, l.stream)
	l.unfit.Store(err != nil)
	return err
}
