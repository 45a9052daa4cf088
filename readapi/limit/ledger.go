package limit

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	trouble *outage // of the stream
}

// prepareTime is how long a stream may take to be found or made. A question that is lost with its connection is asked again
// after that long.
const prepareTime = 2 * time.Second

// newLedger is the ledger of an allowance. The stream's name says what its sizes follow from, so that readers with other
// settings have another stream rather than fight over this one's.
func newLedger(c Config, tier int) (*ledger, error) {
	w, err := weigh(tier, c.Report)
	if err != nil {
		return nil, err
	}
	l := &ledger{js: c.JetStream, tier: tier, report: c.Report, weights: w}
	l.stream = jetstream.StreamConfig{
		Name:                 fmt.Sprintf("LIMITS_%d_%d", tier, c.Report),
		Description:          fmt.Sprintf("Permits of the last %s: %d a key, %d of each report operation.", c.window, tier, c.Report),
		Subjects:             []string{l.subject("*", "*")},
		Storage:              jetstream.MemoryStorage,
		MaxAge:               c.window,
		MaxMsgsPerSubject:    int64(w.size),
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		AllowAtomicPublish:   true,
		AllowDirect:          true,
	}
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
	return fmt.Sprintf("callboard.limits.%d_%d.%s.%s", l.tier, l.report, lineage, name)
}

// buckets are those that a request is counted in.
func (l *ledger) buckets(a Ask) []bucket {
	lineage := a.Lineage.String()
	var buckets []bucket
	if a.Report != "" {
		buckets = append(buckets, bucket{
			policy: reportPolicy, quota: l.report, subject: l.subject(lineage, a.Report), weight: l.weights.report, size: l.weights.size,
		})
	}
	return append(buckets, bucket{
		policy: tierPolicy, quota: l.tier, subject: l.subject(lineage, tierPolicy), weight: l.weights.tier, size: l.weights.size,
	})
}

// prepare looks the stream up, or makes it where it is missing, and reads the server's clock. A stream that is there is not
// changed: an operator may want more replicas of it.
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
	return l.check(info.Config)
}

// check holds a stream's settings against those that make its permits count.
func (l *ledger) check(c jetstream.StreamConfig) error {
	want := l.stream
	if slices.Equal(c.Subjects, want.Subjects) && c.MaxAge == want.MaxAge && c.MaxMsgsPerSubject == want.MaxMsgsPerSubject &&
		c.Discard == want.Discard && c.DiscardNewPerSubject && c.AllowAtomicPublish && c.AllowDirect {
		return nil
	}
	return errors.New("its settings are not those of a limiter: delete it, and it is made anew")
}
