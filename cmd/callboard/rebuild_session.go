package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/internal/run"
	"callboard/internal/run/setting"
	"callboard/projector/rebuild"
	"callboard/schema"
)

// projectionServers are the settings of commands that need the stream and the database.
type projectionServers struct {
	NATS     setting.NATS     `embed:""`
	Stream   setting.Stream   `embed:""`
	Postgres setting.Postgres `embed:""`
}

// session runs work on a whole projection and shows its progress on errs.
type session struct {
	servers projectionServers
	options buildOptions
	errs    io.Writer
	changes bool // the work changes tables, which only their owner may
}

// buildMemory is what the process of a second writer takes: messages of the feed, and batches in work.
const buildMemory = 400 << 20

// runSession does work on the projection of a session, and returns its result. The progress display is closed when it
// returns.
func runSession[T any](
	ctx context.Context, s session, work func(context.Context, rebuild.Config) (T, error),
) (done T, err error) {
	run.LimitMemory(buildMemory)
	servers := s.servers

	err = withServers(ctx, servers.NATS, servers.Postgres, func(js jetstream.JetStream, pool *pgxpool.Pool) (err error) {
		display := newProgress(s.errs)
		defer display.Close()
		showStep(display, rebuild.Progress{Step: rebuild.StepPlan})

		done, err = work(ctx, rebuild.Config{
			JetStream: js, Stream: servers.Stream.Name, Database: pool,
			Workers: s.options.Workers, MaxLiveLag: s.options.MaxLiveLag,
			Throttled: display.SetNote, Progress: func(now rebuild.Progress) { showStep(display, now) },
		})
		return s.withAdvice(err)
	})
	// An interruption before the switch changes nothing that readers see.
	if err != nil && ctx.Err() != nil && !outlastsInterruption(err) {
		err = fmt.Errorf("%w\nReaders still serve the earlier rows. "+
			"An interrupted rebuild goes on with the next one", errInterrupted)
	}

	return done, err
}

// withAdvice adds what to do to an error.
func (s session) withAdvice(err error) error {
	switch {
	case s.changes && schema.HasCode(err, pgerrcode.InsufficientPrivilege):
		return withOwnerAdvice(err)

	case errors.Is(err, rebuild.ErrBusy):
		return fmt.Errorf("%w\nWait until it has finished. 'callboard status' shows a generation that is being built", err)

	case errors.Is(err, rebuild.ErrDiskFull):
		return fmt.Errorf("%w\nThe live generation is unchanged. "+
			"A rebuild needs disk space for a second projection with its indexes: free some and run it again", err)
	case errors.Is(err, rebuild.ErrNotDropped):
		return fmt.Errorf("%w\nRun 'callboard rebuild --abandon' to drop the unfinished generation, "+
			"because the live one needs the disk space", err)

	case errors.Is(err, rebuild.ErrUnconfirmed):
		return fmt.Errorf("%w\nRun 'callboard status' to see which generation is live, "+
			"before you run the command again. A repair can be repeated", err)

	case errors.Is(err, rebuild.ErrUnreadable):
		return fmt.Errorf("%w\nNothing was changed, because the changes of this message would be lost. "+
			"Make it readable again, for example by restoring "+
			"the object of a transcript, or run 'callboard rebuild', which makes it a dead letter", err)
	}

	return err
}

// outlastsInterruption reports whether an error is printed even after an interruption: a disk is full, a change may
// have been committed, or a secret is lost.
func outlastsInterruption(err error) bool {
	return errors.Is(err, rebuild.ErrDiskFull) || errors.Is(err, rebuild.ErrNotDropped) ||
		errors.Is(err, rebuild.ErrUnconfirmed) || errors.Is(err, errNotShown)
}

// showStep shows the current step of a rebuild.
func showStep(display *progress, now rebuild.Progress) {
	words := map[rebuild.Step][2]string{
		rebuild.StepPlan: {"planning"}, rebuild.StepLoad: {"loading", "messages"},
		rebuild.StepIndex:   {"indexing", "statements"},
		rebuild.StepCompare: {"comparing", "tables"}, rebuild.StepSwitch: {"switching"}, rebuild.StepDrop: {"dropping"},
	}[now.Step]
	display.Show(words[0], words[1], now.Done, now.Total)
}
