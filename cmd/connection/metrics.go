package connection

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// registerPool registers the metrics of a pool.
func registerPool(registry prometheus.Registerer, name string, pool *pgxpool.Pool) error {
	labels := prometheus.Labels{"pool": name}
	gauge := func(name, help string, value func(*pgxpool.Stat) int32) prometheus.Collector {
		options := prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}
		return prometheus.NewGaugeFunc(options, func() float64 { return float64(value(pool.Stat())) })
	}
	for _, collector := range []prometheus.Collector{
		gauge("callboard_db_pool_acquired", "PostgreSQL connections in use.", (*pgxpool.Stat).AcquiredConns),
		gauge("callboard_db_pool_idle", "PostgreSQL connections that are open and not in use.", (*pgxpool.Stat).IdleConns),
		gauge("callboard_db_pool_max", "PostgreSQL connections that the pool may open.", (*pgxpool.Stat).MaxConns),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "callboard_db_pool_wait_seconds_total", Help: "Time that was spent waiting for a connection, including connecting.",
			ConstLabels: labels,
		}, func() float64 { return pool.Stat().EmptyAcquireWaitTime().Seconds() }),
	} {
		if err := registry.Register(collector); err != nil {
			return err
		}
	}
	return nil
}
