package readapi

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/readapi/query"
)

// FreshnessMonitor exports how far the rows that a reader serves are complete, and how old the grants of groups and
// organizations are. It asks the databases, not the projector.
//
// It reads the watermarks in the background and exports the latest sample, so that collecting metrics never waits for
// PostgreSQL. Before the first sample it exports nothing. While the databases can't be read, it exports the last
// sample: a watermark that does not move is as old as it looks.
type FreshnessMonitor struct {
	primary    *query.Projection // nil: there is no replica
	projection *query.Projection
	interval   time.Duration // between two samples
	log        zerolog.Logger
	latest     atomic.Pointer[freshnessSample]
}

const (
	freshnessInterval = 5 * time.Second
	freshnessTimeout  = 5 * time.Second
)

// freshnessSample is what the databases said.
type freshnessSample struct {
	query.Freshness
	at         time.Time
	replicaLag time.Duration
	oldest     time.Time // watermark on the primary, which decides about grants; zero: no partition has one
}

// NewFreshnessMonitor returns a monitor and registers its metrics. The projection is read from its pool, which is that
// of the primary if there is no replica. The caller runs [FreshnessMonitor.Run].
func NewFreshnessMonitor(
	primary, projection *pgxpool.Pool, log zerolog.Logger, metrics prometheus.Registerer,
) (*FreshnessMonitor, error) {
	m := &FreshnessMonitor{projection: query.New(projection), interval: freshnessInterval, log: log}
	if primary != projection {
		m.primary = query.New(primary)
	}
	if err := metrics.Register(m); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return m, nil
}

// Run takes samples until ctx ends. Then it returns nil.
func (m *FreshnessMonitor) Run(ctx context.Context) error {
	tick := time.NewTicker(m.interval)
	defer tick.Stop()

	// An outage is logged once, when it begins.
	for failing := false; ; {
		err := m.sample(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !failing {
			m.log.Warn().Err(err).Msg("reading the watermarks for the metrics failed")
		}
		failing = err != nil

		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// sample reads the primary first, so that the time between the two statements can't look like a lag.
func (m *FreshnessMonitor) sample(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, freshnessTimeout)
	defer cancel()

	var primary query.Freshness
	var err error
	if m.primary != nil {
		if primary, err = m.primary.Freshness(ctx); err != nil {
			return fmt.Errorf("primary: %w", err)
		}
	}

	served, err := m.projection.Freshness(ctx)
	if err != nil {
		return err
	}

	// Grants are checked on the primary, even where a replica serves the rows.
	deciding := served
	if m.primary != nil {
		deciding = primary
	}

	m.latest.Store(&freshnessSample{
		Freshness: served, at: time.Now(), replicaLag: replicaLag(primary, served), oldest: oldestWatermark(deciding),
	})
	return nil
}

// coverageAge is 0 if no partition decides anything.
func (s *freshnessSample) coverageAge() time.Duration {
	if s.oldest.IsZero() {
		return 0
	}
	return time.Since(s.oldest)
}

// oldestWatermark is the watermark of the partition that is furthest behind. One that no event has reached has the Unix
// epoch, and decides nothing.
func oldestWatermark(f query.Freshness) (oldest time.Time) {
	for _, watermark := range f.Watermarks {
		if watermark.Unix() > 0 && (oldest.IsZero() || watermark.Before(oldest)) {
			oldest = watermark
		}
	}
	return oldest
}

// replicaLag is how far a replica's watermarks are behind the primary's: that of the partition which is furthest
// behind. Unlike the age of the last replayed transaction it doesn't grow while nothing is written, and it grows while
// the replica is disconnected.
func replicaLag(primary, replica query.Freshness) time.Duration {
	var most time.Duration
	for partition, watermark := range primary.Watermarks {
		if own, found := replica.Watermarks[partition]; found {
			most = max(most, watermark.Sub(own))
		}
	}
	return most
}

// Describe implements [prometheus.Collector]: the metrics of a monitor are not checked beforehand.
func (m *FreshnessMonitor) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (m *FreshnessMonitor) Collect(out chan<- prometheus.Metric) {
	s := m.latest.Load()
	if s == nil {
		return
	}

	gauge := func(name, help string, value float64, labels prometheus.Labels) {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, labels), prometheus.GaugeValue, value)
	}

	for partition, watermark := range s.Watermarks {
		labels := prometheus.Labels{"partition": strconv.Itoa(partition)}
		gauge("callboard_readapi_watermark_seconds",
			"Unix time before which every stored event of the partition is in the rows that this reader serves.",
			float64(watermark.UnixMilli())/1000, labels)
		gauge("callboard_readapi_watermark_lag_seconds",
			"How far the watermark was behind this reader's clock when it was read; negative if it was ahead.",
			s.at.Sub(watermark).Seconds(), labels)
	}

	gauge("callboard_readapi_replica_lag_seconds",
		"How far the watermarks of the database that this reader reads are behind the primary's; 0 without a replica.",
		s.replicaLag.Seconds(), nil)
	gauge("callboard_reader_coverage_age_seconds",
		"How far the partition that is furthest behind is behind now, on the primary: "+
			"the age of the grants of groups and organizations.",
		s.coverageAge().Seconds(), nil)
	gauge("callboard_generation", "Number of the generation of the projection that is live.", float64(s.Generation), nil)
}
