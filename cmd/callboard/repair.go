package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/cmd/process"
	"callboard/events"
	"callboard/projector/rebuild"
	"callboard/projector/store"
)

// phoneSystem is a flag: the id of a phone system, or [uuid.Nil] for the rows of no phone system.
type phoneSystem struct {
	id uuid.UUID
}

// UnmarshalText reads a UUID or "global".
func (s *phoneSystem) UnmarshalText(text []byte) error {
	if string(text) == events.Global {
		s.id = uuid.Nil
		return nil
	}
	id, err := uuid.ParseBytes(text)
	if err != nil {
		return fmt.Errorf("%q is neither a UUID nor %q", text, events.Global)
	}
	s.id = id
	return nil
}

// String returns a text that UnmarshalText reads.
func (s phoneSystem) String() string {
	if s.id == uuid.Nil {
		return events.Global
	}
	return s.id.String()
}

type repairCommand struct {
	output
	System phoneSystem `required:"" placeholder:"UUID" help:"The phone system. 'global' stands for rows of no phone system."`
	Spool  string      `placeholder:"DIR" help:"The folder for messages that are to be folded. Default: TMPDIR, or /tmp."`
	Force  bool        `help:"Also repair a phone system with more than 1,000,000 messages. Writes of its partition may wait for minutes."`
	correctionFlags
	projectionServers
}

// maxRepairMessages is how many messages of a phone system a repair folds without --force.
const maxRepairMessages = 1_000_000

// Run replaces the rows of a phone system by rows folded from the stream.
func (c *repairCommand) Run(ctx context.Context, streams process.Streams) error {
	options, limit := onePartition(), int64(maxRepairMessages)
	options.Spool = c.Spool
	if c.Force {
		limit = 0
	}
	s := session{
		servers: c.projectionServers, options: options, errs: streams.Err, changes: true, noAnnounce: c.NoAnnounce,
		interrupted: "Nothing was changed", unconfirmed: "Run the command again: it can be repeated",
	}
	var done rebuild.RepairResult
	err := s.run(ctx, func(config rebuild.Config) (err error) {
		if err := checkRepairable(ctx, config, c.System.id); err != nil {
			return err
		}
		done, err = rebuild.Repair(ctx, config, c.System.id, limit)
		return err
	})
	if err != nil {
		return err
	}
	return c.print(streams.Out, done, func(w io.Writer) error { return writeLines(w, c.lines(done)...) })
}

func (c *repairCommand) lines(done rebuild.RepairResult) []string {
	name := systemName(c.System.id)
	if done.Rows == 0 {
		return []string{fmt.Sprintf("The stream's messages make no rows of %s, so it has none now.", name)}
	}
	lines := []string{
		fmt.Sprintf("Rebuilt the %d rows of %s from %d messages; writes paused for %s.", done.Rows, name, done.Messages, milliseconds(done.WritePause)),
	}
	switch {
	case done.ChangedCalls > 0:
		lines = append(lines, fmt.Sprintf("Calls that show other values: %d. They get a later updatedAt, so clients that walk by it read them again.", done.ChangedCalls))
	case done.AllCalls:
		lines = append(lines, "The phone system is too large to compare its calls: all of them get a later updatedAt, so clients that walk by it read them again.")
	}
	return append(lines, fmt.Sprintf("Run 'callboard verify --system %s' to check them.", c.System))
}

// checkRepairable returns an error if tables or columns are missing, or if the phone system has neither rows nor messages.
func checkRepairable(ctx context.Context, config rebuild.Config, system uuid.UUID) error {
	return config.Database.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		catalog, err := store.ReadCatalog(ctx, conn.Conn(), "projection")
		if err != nil {
			return fmt.Errorf("%w\nRun 'callboard migrate' to create them", err)
		}
		if missing := catalog.Missing(); len(missing) > 0 {
			names := make([]string, len(missing))
			for i, column := range missing {
				names[i] = column.String()
			}
			return fmt.Errorf("the live projection has no %s: another release built it, or its tables were altered\nRun 'callboard rebuild' to build a new generation",
				strings.Join(names, ", "))
		}
		if system == uuid.Nil {
			return nil
		}
		withRows, err := store.PhoneSystemIDs(ctx, conn.Conn(), catalog)
		if err != nil || slices.Contains(withRows, system) {
			return err
		}
		published, err := hasMessages(ctx, config, system)
		if err == nil && !published {
			err = unknownSystems(system)
		}
		return err
	})
}

// hasMessages reports whether the stream has a message about the phone system.
func hasMessages(ctx context.Context, config rebuild.Config, system uuid.UUID) (bool, error) {
	stream, err := openStream(ctx, config.JetStream, config.Stream)
	if err != nil {
		return false, err
	}
	partitions, err := events.Partitions(stream.CachedInfo().Config)
	if err != nil {
		return false, err
	}
	partition := strings.TrimSuffix(events.PartitionFilter(events.Partition(system, partitions)), ">")
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(partition+system.String()+".>"))
	if err != nil {
		return false, fmt.Errorf("messages of the phone system: %w", err)
	}
	return len(info.State.Subjects) > 0, nil
}

func unknownSystems(systems ...uuid.UUID) error {
	names := make([]string, len(systems))
	for i, system := range systems {
		names[i] = systemName(system)
	}
	return fmt.Errorf("no messages and no rows found of %s\nCheck the phone system's id", strings.Join(names, ", "))
}
