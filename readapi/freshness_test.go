package readapi

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

// setWatermark sets the watermark of partition 0 or 1.
func setWatermark(tb testing.TB, database *schematest.Database, partition int, watermark time.Time) {
	tb.Helper()
	schematest.Exec(tb, database.Pool(tb), `insert into projection.position (partition, stream, sequence, epoch, clock, watermark)
		values ($1, gen_random_uuid(), 1, 1, $2, $2) on conflict (partition) do update set watermark = $2`, partition, watermark)
}

// startMonitor runs a monitor of a primary and a replica, and returns its metrics.
func startMonitor(tb testing.TB, primary, projection *schematest.Database, log zerolog.Logger) *prometheus.Registry {
	tb.Helper()
	registry, pool := prometheus.NewRegistry(), openReader(tb, primary)
	replica := pool
	if projection != primary {
		replica = openReader(tb, projection)
	}
	monitor, err := NewFreshnessMonitor(pool, replica, log, registry)
	if err != nil {
		tb.Fatal(err)
	}
	monitor.interval = 50 * time.Millisecond
	eventstest.Run(tb, monitor.Run)
	return registry
}

func TestFreshnessMonitor_Watermarks(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	registry := startMonitor(t, database, database, zerolog.Nop())
	eventstest.Eventually(t, "a generation, and no watermark of a projection without positions", func() bool {
		names := slices.Sorted(maps.Keys(eventstest.Metrics(t, registry)))
		return slices.Equal(names, []string{"callboard_generation", "callboard_readapi_replica_lag_seconds", "callboard_reader_coverage_age_seconds"})
	})
	behind, ahead := time.Now().Add(-time.Hour).Truncate(time.Millisecond), time.Now().Add(time.Hour).Truncate(time.Millisecond)
	setWatermark(t, database, 0, behind)
	setWatermark(t, database, 1, ahead)
	want := map[string]float64{
		"callboard_readapi_watermark_seconds 0": float64(behind.UnixMilli()) / 1000,
		"callboard_readapi_watermark_seconds 1": float64(ahead.UnixMilli()) / 1000,
		"callboard_readapi_replica_lag_seconds": 0,
	}
	eventstest.Eventually(t, fmt.Sprint(want), func() bool {
		got := eventstest.Metrics(t, registry)
		ahead, ok := got["callboard_readapi_watermark_lag_seconds 1"]
		return includes(got, want) && got["callboard_readapi_watermark_lag_seconds 0"] >= 3600 && ok && ahead <= 0
	})
}

// The primary decides about grants: the replica's watermarks do not count, nor those of partitions that no event
// has reached.
func TestFreshnessMonitor_CoverageAge(t *testing.T) {
	t.Parallel()
	primary, replica := schematest.New(t), schematest.New(t)
	alone, both := startMonitor(t, primary, primary, zerolog.Nop()), startMonitor(t, primary, replica, zerolog.Nop())
	setWatermark(t, primary, 0, time.Unix(0, 0))
	eventstest.Eventually(t, "no age", func() bool {
		all := eventstest.Metrics(t, alone)
		_, read := all["callboard_readapi_watermark_seconds 0"]
		return read && all["callboard_reader_coverage_age_seconds"] == 0
	})
	setWatermark(t, primary, 1, time.Now().Add(-3*time.Hour))
	setWatermark(t, replica, 1, time.Now().Add(-9*time.Hour))
	for name, registry := range map[string]*prometheus.Registry{"primary": alone, "primary and replica": both} {
		eventstest.Eventually(t, name+": an age of 3 hours", func() bool {
			age := eventstest.Metrics(t, registry)["callboard_reader_coverage_age_seconds"]
			return age >= 3*3600 && age < 4*3600
		})
	}
}

// A replica that stays behind in one partition has that partition's lag.
func TestFreshnessMonitor_ReplicaLag(t *testing.T) {
	t.Parallel()
	primary, replica := schematest.New(t), schematest.New(t)
	registry := startMonitor(t, primary, replica, zerolog.Nop())
	now := time.Now().Truncate(time.Millisecond)
	for partition, age := range []time.Duration{0, 90 * time.Second} {
		setWatermark(t, primary, partition, now)
		setWatermark(t, replica, partition, now.Add(-age))
	}
	eventstest.Eventually(t, "90 s", func() bool { return eventstest.Metrics(t, registry)["callboard_readapi_replica_lag_seconds"] == 90 })
	setWatermark(t, replica, 1, now.Add(time.Second))
	eventstest.Eventually(t, "0 s", func() bool { return eventstest.Metrics(t, registry)["callboard_readapi_replica_lag_seconds"] == 0 })
}

// While the watermarks can't be read, the last one stays, and its age can be seen.
func TestFreshnessMonitor_KeepsTheLastWatermarkWhileReadingFails(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	setWatermark(t, database, 0, time.Unix(1000, 0))
	var log eventstest.LogBuffer
	registry := startMonitor(t, database, database, zerolog.New(&log))
	want := map[string]float64{"callboard_readapi_watermark_seconds 0": 1000}
	eventstest.Eventually(t, fmt.Sprint(want), func() bool { return includes(eventstest.Metrics(t, registry), want) })
	schematest.Exec(t, database.Pool(t), "drop schema projection cascade")
	eventstest.Eventually(t, "a failed reading", func() bool { return log.Contains("reading the watermarks for the metrics failed") })
	if got := eventstest.Metrics(t, registry); !includes(got, want) {
		t.Errorf("values = %v, want %v", got, want)
	}
}

func includes(got, want map[string]float64) bool {
	for name, value := range want {
		if found, ok := got[name]; !ok || found != value {
			return false
		}
	}
	return true
}
