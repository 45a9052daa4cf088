package projectortest

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/projector"
)

// Connect returns the configuration of a projector with its own connections, which disconnect closes. It needs no [testing.TB], so a
// test's child process can use it.
func Connect(natsURL, databaseURL string) (config projector.Config, disconnect func(), err error) {
	pool, err := newPool(context.Background(), databaseURL, map[string]string{"search_path": "projection"})
	if err != nil {
		return config, nil, err
	}
	nc, err := nats.Connect(natsURL, nats.Timeout(30*time.Second), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		pool.Close()
		return config, nil, err
	}
	disconnect = func() {
		closed := nc.StatusChanged(nats.CLOSED)
		nc.Close()
		<-closed
		pool.Close()
	}
	js, err := jetstream.New(nc)
	if err != nil {
		disconnect()
		return config, nil, err
	}
	return projector.Config{
		JetStream: js, Stream: events.StreamName, Database: pool, Clock: 50 * time.Millisecond, Tick: 50 * time.Millisecond, OwnerChecks: 200,
		Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	}, disconnect, nil
}

func newPool(ctx context.Context, url string, session map[string]string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	for name, value := range session {
		config.ConnConfig.RuntimeParams[name] = value
	}
	return pgxpool.NewWithConfig(ctx, config)
}
