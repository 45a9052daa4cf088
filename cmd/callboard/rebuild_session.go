package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/cmd/setting"
	"callboard/projector/rebuild"
)

// projectionServers are what a projection is made from, and where it is.
type projectionServers struct {
	NATS     setting.NATS     `embed:""`
	Stream   setting.Stream   `embed:""`
	Postgres setting.Postgres `embed:""`
}

// rebuilding is work on a whole projection, with its progress on errs.
type rebuilding struct {
	servers projectionServers
	effort  effort
	errs    io.Writer
	paused  string // what to know after an interruption
	changes bool   // tables are changed, as their owner alone may
}

// run does the work. Its progress is off the screen before run returns.
func (r rebuilding) run(ctx context.Context, work func(rebuild.Config) error) error {
	err := withStream(r.servers.NATS, func(js jetstream.JetStream) error {
		return withDatabase(ctx, r.servers.Postgres, func(pool *pgxpool.Pool) error {
			shown := newRebuildProgress(r.errs)
			defer shown.close()
			return r.refused(work(r.config(js, pool, shown)))
		})
	})
	if err != nil && ctx.Err() != nil && !roomless(err) {
		return fmt.Errorf("%w\n%s", errInterrupted, r.paused)
	}
	return err
}

func (r rebuilding) config(js jetstream.JetStream, pool *pgxpool.Pool, shown *rebuildProgress) rebuild.Config {
	return rebuild.Config{
		JetStream: js, Stream: r.servers.Stream.Name.Get(), Database: pool,
		Memory: int64(r.effort.Memory), Workers: r.effort.Workers, Batch: r.effort.Batch,
		MaxLiveLag: r.effort.MaxLiveLag, Throttled: shown.wait, Progress: shown.hear,
	}
}

// refused adds to an error what to do about it.
func (r rebuilding) refused(err error) error {
	var refusal *pgconn.PgError
	switch {
	case r.changes && errors.As(err, &refusal) && refusal.Code == pgerrcode.InsufficientPrivilege:
		// Not wrapped: nobody is to add what other commands would need.
		return errors.New("rebuild, rollback and repair run as the user who ran 'callboard migrate'\n" + err.Error())
	case errors.Is(err, rebuild.ErrBusy):
		return fmt.Errorf("%w\nWait for its end; 'callboard status' shows a generation that is being built", err)
	case errors.Is(err, rebuild.ErrDiskFull):
		return fmt.Errorf("%w\nThe live generation is as it was. A rebuild needs room for a second projection beside it, and its indexes: make room, and run it again", err)
	case errors.Is(err, rebuild.ErrNotDropped):
		return fmt.Errorf("%w\nThe live generation needs the room: 'callboard rebuild --abandon' drops what was built", err)
	case errors.Is(err, rebuild.ErrUnreadable):
		return fmt.Errorf("%w\nNothing was changed: what the message said would be lost. Make it readable again, a transcript's object that is gone for example; "+
			"'callboard rebuild' does without it, and makes it a dead letter", err)
	}
	return err
}

// roomless tells whether the disk is full, which is said whatever else has happened.
func roomless(err error) bool {
	return errors.Is(err, rebuild.ErrDiskFull) || errors.Is(err, rebuild.ErrNotDropped)
}
