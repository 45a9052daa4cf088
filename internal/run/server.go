package run

import (
	"context"
	"net"

	"github.com/rs/zerolog"

	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
)

// ServerSettings are the settings of every program that serves.
type ServerSettings struct {
	NATS     setting.NATS     `embed:""`
	Postgres setting.Postgres `embed:""`
	Admin    setting.Admin    `embed:""`
	Log      setting.Log      `embed:""`
}

// Server is what every program that serves needs to run.
type Server struct {
	NATS     connection.NATSConfig
	Postgres setting.URL  // the primary
	Admin    net.Listener // the program closes it
	Log      zerolog.Logger
}

// Open opens the admin listener and the log of a program, and logs the addresses that it serves and connects to. public
// is the listener of its API, nil where it has none. Neither NATS nor PostgreSQL need answer yet.
func (s ServerSettings) Open(ctx context.Context, name string, public net.Listener, streams Streams) (Server, error) {
	admin, err := Listen(ctx, s.Admin.Listen)
	if err != nil {
		return Server{}, err
	}

	log := NewLog(s.Log, streams.Err)
	started := log.Info()
	if public != nil {
		started = started.Stringer("public", public.Addr())
	}
	started.Stringer("admin", admin.Addr()).Stringer("nats", s.NATS.URL).Stringer("postgres", s.Postgres.URL).
		Msg(name + " started")

	nats := connection.NATSConfig{NATS: s.NATS, Name: "callboard-" + name, RetryConnect: true, Log: log}
	return Server{NATS: nats, Postgres: s.Postgres.URL, Admin: admin, Log: log}, nil
}
