// Package freshness exports how far the rows that a reader serves are complete, and how old the grants of groups and organizations are. It
// asks the databases, not the projector.
package freshness

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

// Config configures a monitor.
type Config struct {
	Primary    *pgxpool.Pool
	Projection *pgxpool.Pool // where the projection is read; the same pool as Primary if there is no replica
	Interval   time.Duration // between two samples; zero: 5 s
	Log        zerolog.Logger
	Metrics    prometheus.Registerer
}

const (
	defaultInterval = 5 * time.Second
	sampleTimeout   = 5 * time.Second
)

// Monitor reads the watermarks in the background and exports the latest sample, so that collecting metrics never waits for PostgreSQL.
// Before the first sample it exports nothing. While the databases can't be read, it exports the last one: a watermark that does not move
// is as old as it looks.
type Monitor struct {
	config     Config
	primary    *query.Projection // nil: there is no replica
	projection *query.Projection
	latest     atomic.Pointer[sample]
}

type sample struct {
	query.Freshness
	at         time.Time
	replicaLag time.Duration
	oldest     time.Time // watermark on the primary, which decides about grants; zero: no partition has one
}

// New returns a monitor and registers its metrics with config.Metrics.
func New(config Config) (*Monitor, error) {
	if config.Interval == 0 {
		config.Interval = defaultInterval
	}
	m := &Monitor{config: config, projection: query.New(config.Projection)}
	if config.Primary != config.Projection {
		m.primary = query.New(config.Primary)
	}
	if err := config.Metrics.Register(m); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return m, nil
}

// Run takes samples until ctx ends. Then it returns nil.
func (m *Monitor) Run(ctx context.Context) error {
	tick := time.NewTicker(m.config.Interval)
	defer tick.Stop()
	for failing := false; ; {
		err := m.sample(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !failing {
			m.config.Log.Warn().Err(err).Msg("reading the watermarks for the metrics failed")
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
func (m *Monitor) sample(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
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
	deciding := served
	if m.primary != nil {
		deciding = primary
	}
	m.latest.Store(&sample{Freshness: served, at: time.Now(), replicaLag: lag(primary, served), oldest: oldest(deciding)})
	return nil
}

// coverageAge is 0 if no partition decides anything.
func (s *sample) coverageAge() time.Duration {
	if s.oldest.IsZero() {
		return 0
	}
	return time.Since(s.oldest)
}

// oldest is the watermark of the partition that is furthest behind. One that no event has reached has the Unix epoch, and decides nothing.
func oldest(f query.Freshness) (oldest time.Time) {
	for _, watermark := range f.Watermarks {
		if watermark.Unix() > 0 && (oldest.IsZero() || watermark.Before(oldest)) {
			oldest = watermark
		}
	}
	return oldest
}

// lag is how far a replica's watermarks are behind the primary's: that of the partition which is furthest behind. Unlike the age of the
// last replayed transaction it doesn't grow while nothing is written, and it grows while the replica is disconnected.
func lag(primary, replica query.Freshness) time.Duration {
	var most time.Duration
	for partition, watermark := range primary.Watermarks {
		if own, found := replica.Watermarks[partition]; found {
			most = max(most, watermark.Sub(own))
		}
	}
	return most
}

// descriptions are the metrics.
type descriptions struct {
	watermark, lag, replicaLag, coverage, generation *prometheus.Desc
}

func describe() descriptions {
	partition := []string{"partition"}
	return descriptions{
		watermark: prometheus.NewDesc("callboard_readapi_watermark_seconds",
			"Unix time before which every stored event of the partition is in the rows that this reader serves.", partition, nil),
		lag: prometheus.NewDesc("callboard_readapi_watermark_lag_seconds",
			"How far the watermark was behind this reader's clock when it was read; negative if it was ahead.", partition, nil),
		replicaLag: prometheus.NewDesc("callboard_readapi_replica_lag_seconds",
			"How far the watermarks of the database that this reader reads are behind the primary's; 0 without a replica.", nil, nil),
		coverage: prometheus.NewDesc("callboard_reader_coverage_age_seconds",
			"How far the partition that is furthest behind is behind now, on the primary: the age of the grants of groups and organizations.", nil, nil),
		generation: prometheus.NewDesc("callboard_generation", "Number of the generation of the projection that is live.", nil, nil),
	}
}

// Describe implements [prometheus.Collector].
func (m *Monitor) Describe(out chan<- *prometheus.Desc) {
	d := describe()
	for _, one := range []*prometheus.Desc{d.watermark, d.lag, d.replicaLag, d.coverage, d.generation} {
		out <- one
	}
}

// Collect implements [prometheus.Collector].
func (m *Monitor) Collect(out chan<- prometheus.Metric) {
	s, d := m.latest.Load(), describe()
	if s == nil {
		return
	}
	gauge := func(description *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, labels...)
	}
	for partition, watermark := range s.Watermarks {
		label := strconv.Itoa(partition)
		gauge(d.watermark, float64(watermark.UnixMilli())/1000, label)
		gauge(d.lag, s.at.Sub(watermark).Seconds(), label)
	}
	gauge(d.replicaLag, s.replicaLag.Seconds())
	gauge(d.coverage, s.coverageAge().Seconds())
	gauge(d.generation, float64(s.Generation))
}
