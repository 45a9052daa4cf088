package projectortest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/projector"
)

// Connect returns the configuration of a projector with its own connections, which disconnect closes.
func Connect(tb testing.TB, natsURL, databaseURL string) (config projector.Config, disconnect func()) {
	tb.Helper()
	pool, err := pgxpool.New(context.WithoutCancel(tb.Context()), databaseURL+"&search_path=projection")
	if err != nil {
		tb.Fatal(err)
	}
	nc, err := nats.Connect(natsURL, nats.Timeout(30*time.Second), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		pool.Close()
		tb.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		tb.Fatal(err)
	}

	disconnect = func() {
		closed := nc.StatusChanged(nats.CLOSED)
		nc.Close()
		<-closed
		pool.Close()
	}
	return projector.Config{
		JetStream: js, Stream: events.StreamName, Database: pool, Clock: 50 * time.Millisecond, Tick: 50 * time.Millisecond, OwnerChecks: 200,
		Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	}, disconnect
}
