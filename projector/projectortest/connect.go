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

// Connect is a projector's configuration with connections of its own, until closing is called.
func Connect(natsURL, databaseURL string) (config projector.Config, closing func(), err error) {
	pgx, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return config, nil, err
	}
	pgx.ConnConfig.RuntimeParams["search_path"] = "projection"
	pool, err := pgxpool.NewWithConfig(context.Background(), pgx)
	if err != nil {
		return config, nil, err
	}
	nc, err := nats.Connect(natsURL, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		pool.Close()
		return config, nil, err
	}
	closing = func() {
		closed := nc.StatusChanged(nats.CLOSED)
		nc.Close()
		<-closed
		pool.Close()
	}
	js, err := jetstream.New(nc)
	if err != nil {
		closing()
		return config, nil, err
	}
	return projector.Config{
		JetStream: js, Stream: events.StreamName, Database: pool, Tick: 50 * time.Millisecond,
		Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	}, closing, nil
}
