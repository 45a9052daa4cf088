// Command projector consumes the stream of events and keeps the projection.
package main

import (
	"context"

	"callboard/cmd/connection"
	"callboard/cmd/process"
	"callboard/cmd/program/projector"
	"callboard/cmd/setting"
)

func main() {
	process.Main("projector", "Consumes the stream of events and keeps the projection.", &program{})
}

// program is the projector with its settings.
type program struct {
	NATS        setting.NATS       `embed:""`
	Stream      setting.Stream     `embed:""`
	Postgres    setting.Postgres   `embed:""`
	Partitions  setting.Partitions `setting:"CALLBOARD_PARTITIONS" placeholder:"0-7,12" help:"This projector's share of the partitions; all of them by default."`
	AuditDays   setting.Days       `name:"audit-days" setting:"CALLBOARD_AUDIT_DAYS" default:"90" help:"How many days of the audit are kept."`
	AdminListen setting.Address    `setting:"CALLBOARD_ADMIN_LISTEN" default:"127.0.0.1:9091" help:"Where /livez, /readyz, /metrics and /debug/pprof are. Never public."`
	Log         setting.Log        `embed:""`
}

// Run keeps the projection until ctx ends.
func (p *program) Run(ctx context.Context, streams process.Streams) error {
	log := process.NewLog(p.Log, streams.Err)
	admin, err := process.Listen(ctx, p.AdminListen.Get())
	if err != nil {
		return err
	}
	log.Info().Stringer("admin", admin.Addr()).Stringer("nats", p.NATS.URL.Get()).Stringer("postgres", p.Postgres.URL.Get()).
		Msg("projector starts")
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
