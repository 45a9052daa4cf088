// Command projector applies the stream's events to the projection.
package main

import (
	"context"

	"callboard/cmd/connection"
	"callboard/cmd/process"
	"callboard/cmd/program/projector"
	"callboard/cmd/setting"
)

func main() {
	process.Main("projector", "Applies the stream's events to the projection, and stores audit entries.", &program{})
}

// program holds the projector's settings.
type program struct {
	NATS        setting.NATS       `embed:""`
	Stream      setting.Stream     `embed:""`
	Postgres    setting.Postgres   `embed:""`
	Partitions  setting.Partitions `setting:"CALLBOARD_PARTITIONS" placeholder:"0-7,12" help:"The partitions that this projector may own. Default: all."`
	AuditDays   setting.Days       `name:"audit-days" setting:"CALLBOARD_AUDIT_DAYS" default:"90" help:"For how many days audit entries are stored."`
	AdminListen setting.Address    `setting:"CALLBOARD_ADMIN_LISTEN" default:"127.0.0.1:9091" help:"The address of /livez, /readyz, /metrics and /debug/pprof. It must not be public."`
	Log         setting.Log        `embed:""`
}

// Run runs the projector until ctx ends.
func (p *program) Run(ctx context.Context, streams process.Streams) error {
	log := process.NewLog(p.Log, streams.Err)
	admin, err := process.Listen(ctx, p.AdminListen.Get())
	if err != nil {
		return err
	}
	log.Info().Stringer("admin", admin.Addr()).Stringer("nats", p.NATS.URL.Get()).Stringer("postgres", p.Postgres.URL.Get()).
		Msg("projector started")
	return projector.Run(ctx, projector.Config{
		NATS: connection.NATSConfig{
			URL: p.NATS.URL.Get(), Creds: p.NATS.Creds.Get(), Name: "callboard-projector", RetryConnect: true, Log: log,
		},
		Stream:     p.Stream.Name.Get(),
		Postgres:   p.Postgres.URL.Get(),
		Partitions: p.Partitions.Get(),
		AuditDays:  p.AuditDays.Get(),
		Admin:      admin,
		Log:        log,
	})
}
