package limit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The contract's budgets, in requests a minute of a key (Limits).
const (
	ReportPerMinute   = 120 // for each report operation
	StandardPerMinute = 120 // in the standard tier

	// MaxPerMinute is the largest allowance that can be metered: the permits of a report and of the tier then fill a batch.
	MaxPerMinute = (maxBatch-1)*(ReportPerMinute+1) - 1
)

// StreamConfigs returns the configurations of the streams that meter the contract's budgets, with an allowance of premium requests
// a minute in the premium tier. Readers create missing streams with one replica. The error is an allowance that cannot be metered.
func StreamConfigs(premium, replicas int) ([]jetstream.StreamConfig, error) {
	var configs []jetstream.StreamConfig
	for _, tier := range slices.Compact([]int{StandardPerMinute, premium}) {
		w, err := computeWeights(tier, ReportPerMinute)
		if err != nil {
			return nil, err
		}
		c := streamConfig(tier, ReportPerMinute, w, defaultWindow)
		c.Replicas = replicas
		configs = append(configs, c)
	}
	return configs, nil
}

// streamConfig returns the configuration of an allowance's stream. The stream's name contains the allowances, so readers with
// different settings use different streams.
func streamConfig(tier, report int, w weights, window time.Duration) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:                 fmt.Sprintf("LIMITS_%d_%d", tier, report),
		Description:          fmt.Sprintf("Permits of the last %s: %d a key, %d of each report operation.", window, tier, report),
		Subjects:             []string{subject(tier, report, "*", "*")},
		Storage:              jetstream.MemoryStorage,
		MaxAge:               window,
		MaxMsgsPerSubject:    int64(w.size),
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		AllowAtomicPublish:   true,
		AllowDirect:          true,
	}
}

func subject(tier, report int, lineage, name string) string {
	return fmt.Sprintf("callboard.limits.%d_%d.%s.%s", tier, report, lineage, name)
}

// CheckStream returns an error if a running stream's settings do not count permits like the wanted ones. Storage and replicas are
// the operator's choice.
func CheckStream(running, wanted jetstream.StreamConfig) error {
	c := running
	if slices.Equal(c.Subjects, wanted.Subjects) && c.SubjectTransform == nil && c.Retention == wanted.Retention &&
		c.MaxAge == wanted.MaxAge && c.MaxMsgsPerSubject == wanted.MaxMsgsPerSubject &&
		c.Discard == wanted.Discard && c.DiscardNewPerSubject && c.AllowAtomicPublish && c.AllowDirect {
		return nil
	}
	return errors.New("its settings do not count permits: delete it, and a reader creates it again")
}

// tierStream is the stream that holds the permits of one tier.
type tierStream struct {
	js            jetstream.JetStream
	config        jetstream.StreamConfig
	directSubject string // where quotas are requested
	tier          int    // permits per window
	report        int    // permits per window, for each report operation
	weights       weights
	clock         atomic.Pointer[clock]
	misconfigured atomic.Bool // the stream's settings were checked and do not count permits
	outage        *outage
}

// ensureTimeout bounds [tierStream.ensure]. A request that is lost with its connection is repeated after this time.
const ensureTimeout = 2 * time.Second

func newTierStream(c Config, tier int) (*tierStream, error) {
	w, err := computeWeights(tier, c.Report)
	if err != nil {
		return nil, err
	}
	s := &tierStream{js: c.JetStream, config: streamConfig(tier, c.Report, w, c.window), tier: tier, report: c.Report, weights: w}
	s.directSubject = apiPrefix(c.JetStream.Options()) + "DIRECT.GET." + s.config.Name
	s.outage = newOutage(c.Log.With().Str("stream", s.config.Name).Logger(), "rate limit stream")
	now := time.Now()
	s.clock.Store(&clock{server: now, local: now})
	return s, nil
}

// apiPrefix returns the prefix of the subjects of JetStream's API.
func apiPrefix(o jetstream.JetStreamOptions) string {
	switch {
	case o.APIPrefix != "":
		return strings.TrimSuffix(o.APIPrefix, ".") + "."
	case o.Domain != "":
		return "$JS." + o.Domain + ".API."
	}
	return jetstream.DefaultAPIPrefix
}

func (s *tierStream) subject(lineage, name string) string {
	return subject(s.tier, s.report, lineage, name)
}

// buckets returns the buckets that a request is counted in. The tier's is the last.
func (s *tierStream) buckets(r Request) []bucket {
	lineage := r.Lineage.String()
	var buckets []bucket
	if r.Report != "" {
		buckets = append(buckets, s.bucket(reportPolicy, s.subject(lineage, r.Report), s.weights.report))
	}
	return append(buckets, s.bucket(tierPolicy, s.subject(lineage, tierPolicy), s.weights.tier))
}

// bucket computes the limit from the subject's size: a report operation has no more permits than the tier's allowance.
func (s *tierStream) bucket(policy, subject string, weight int) bucket {
	return bucket{policy: policy, limit: s.weights.size / weight, subject: subject, weight: weight, size: s.weights.size}
}

// ensure looks the stream up, creates it if it is missing, and reads the server's clock. It does not change an existing stream,
// because an operator may have given it more replicas. A stream that does not count permits is not asked until it does.
func (s *tierStream) ensure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ensureTimeout)
	defer cancel()
	asked := time.Now()
	stream, err := s.js.Stream(ctx, s.config.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		asked = time.Now()
		stream, err = s.js.CreateStream(ctx, s.config)
	}
	if err != nil {
		return err
	}
	info := stream.CachedInfo()
	s.clock.Store(&clock{server: info.TimeStamp, local: asked.Add(time.Since(asked) / 2)})
	err = CheckStream(info.Config, s.config)
	s.misconfigured.Store(err != nil)
	return err
}

// quotaRequest asks for a bucket's oldest message as a batch of one: the reply says how many messages follow it.
func (s *tierStream) quotaRequest(b bucket) *nats.Msg {
	return &nats.Msg{Subject: s.directSubject, Data: fmt.Appendf(nil, `{"next_by_subj":%q,"seq":1,"batch":1}`, b.subject)}
}

// parseQuota reads the reply to a [tierStream.quotaRequest]. It returns false if the message is no such reply.
func (s *tierStream) parseQuota(b bucket, m *nats.Msg) (quota, bool) {
	if m.Header.Get("Status") == "404" {
		return quota{bucket: b, remaining: b.limit}, true
	}
	following, err := strconv.Atoi(m.Header.Get("Nats-Num-Pending"))
	if err != nil {
		return quota{}, false
	}
	oldest, err := time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
	if err != nil {
		return quota{}, false
	}
	return quota{bucket: b, remaining: max(0, b.size-following-1) / b.weight, next: s.expiry(oldest)}, true
}

// expiryLag is the longest time by which the server removes a message late.
const expiryLag = 250 * time.Millisecond

// expiry returns when the server has removed a message that it stored at an instant of its own clock.
func (s *tierStream) expiry(stored time.Time) time.Time {
	latest := time.Now().Add(s.config.MaxAge)
	if expiry := s.clock.Load().toLocal(stored).Add(s.config.MaxAge + expiryLag); expiry.Before(latest) {
		return expiry
	}
	return latest
}

// clock translates the server's time: one instant by the server's clock and by the local clock. The server stamps and removes
// permits by its own clock, so neither an offset nor a step of the local clock changes when a permit returns.
type clock struct {
	server time.Time
	local  time.Time // with the monotonic reading
}

func (c clock) toLocal(server time.Time) time.Time { return c.local.Add(server.Sub(c.server)) }

// maxBatch is how many messages the server accepts in one atomic batch.
const maxBatch = 1000

// weights are the numbers of messages in a stream whose subjects hold size messages each.
type weights struct {
	size   int
	tier   int // messages per permit of the tier
	report int // messages per permit of a report operation
}

// computeWeights returns the smallest weights with which a subject of one size holds exactly tier permits of the tier or report
// permits of a report operation. A tier whose allowance is not larger than a report operation's is used up first, so all permits
// then weigh 1. The error is an allowance whose permits do not fit into a batch.
func computeWeights(tier, report int) (weights, error) {
	if tier <= report {
		return weights{size: tier, tier: 1, report: 1}, nil
	}
	for w := (weights{tier: 1}); w.tier < maxBatch; w.tier++ {
		w.report = tier*w.tier/(report+1) + 1 // the smallest with which no more than report permits fit
		w.size = max(tier*w.tier, report*w.report)
		if w.size/w.tier != tier {
			continue
		}
		if w.tier+w.report > maxBatch {
			break
		}
		return w, nil
	}
	return weights{}, fmt.Errorf("an allowance of %d a minute cannot be metered beside %d for each report operation: "+
		"its permits need more than the %d messages of a batch: choose a smaller one", tier, report, maxBatch)
}
