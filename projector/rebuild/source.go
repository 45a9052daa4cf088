package rebuild

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector"
	"callboard/projector/ingest"
	"callboard/projector/store"
	"callboard/schema"
)

// source is a stream that has every message since its first one.
type source struct {
	ingest.Source
	js         jetstream.JetStream
	partitions int
}

// newSource checks that the stream can be read from its first event.
func newSource(ctx context.Context, c Config) (*source, error) {
	opened, err := ingest.OpenSource(ctx, c.JetStream, c.Stream)
	if err != nil {
		return nil, err
	}

	info := opened.CachedInfo()
	if info.Config.AllowDirect {
		return nil, fmt.Errorf("stream %s has allow_direct on, so a replica that lags could hide events: turn it off",
			opened.Name())
	}

	if err := schema.CheckMigrated(ctx, c.Database); err != nil {
		return nil, err
	}

	registered, err := store.RegisteredPartitions(ctx, c.Database, opened.ID)
	if err != nil {
		return nil, err
	}
	if err := opened.CheckPartitions(registered); err != nil {
		return nil, err
	}

	partitions, err := opened.Partitions()
	if err != nil {
		return nil, err
	}

	if info.State.FirstSeq > 1 {
		return nil, fmt.Errorf("stream %s begins at sequence %d, so a projection built from it would lack the events before: "+
			"restore the stream",
			opened.Name(), info.State.FirstSeq)
	}
	return &source{Source: opened, js: c.JetStream, partitions: partitions}, nil
}

// partition returns the partition of a phone system.
func (s *source) partition(system uuid.UUID) int16 {
	return int16(events.Partition(system, s.partitions))
}

// messages returns about how many events the stream has.
func (s *source) messages(ctx context.Context) (int64, error) {
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(events.ClockSubject))
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", s.Name(), err)
	}
	return int64(info.State.Msgs - info.State.Subjects[events.ClockSubject]), nil
}

// verifyPositions is an error if a position is not a valid one of the stream.
func (s *source) verifyPositions(ctx context.Context, positions map[int16]store.Position) error {
	valid, err := s.validPositions(ctx, positions)
	if err != nil {
		return err
	}
	for partition := range positions {
		if _, ok := valid[partition]; !ok {
			return fmt.Errorf("partition %d was built from another stream than %s, or from messages that the stream has lost: "+
				"run 'callboard rebuild'",
				partition, s.Name())
		}
	}
	return nil
}

// validPositions returns the positions whose messages the stream holds. The others are of another stream, or of
// messages that it has lost.
func (s *source) validPositions(
	ctx context.Context, positions map[int16]store.Position,
) (map[int16]store.Position, error) {
	// The stream may have changed since the operation began, and another stream may have its name.
	now, err := s.Reopen(ctx, s.js)
	if err == nil {
		err = ingest.CheckLeader(now.CachedInfo())
	}
	if err != nil {
		return nil, err
	}

	valid := maps.Clone(positions)
	for partition, p := range positions {
		intact := p.Stream == s.ID
		if intact {
			if intact, err = now.IntactUpTo(ctx, p); err != nil {
				return nil, err
			}
		}

		if !intact {
			delete(valid, partition)
		}
	}
	return valid, nil
}

// confirmedPositions returns the valid positions. Where the stream has replicas, the others are confirmed as what stops
// a partition is: the server that answers may not lead the stream any more, and lack its newest messages.
func (s *source) confirmedPositions(
	ctx context.Context, positions map[int16]store.Position,
) (valid map[int16]store.Position, err error) {
	ofStream := maps.Clone(positions)
	maps.DeleteFunc(ofStream, func(_ int16, p store.Position) bool { return p.Stream != s.ID })

	var lost projector.Confirmation
	for {
		valid, err = s.validPositions(ctx, ofStream)
		if err != nil || len(valid) == len(ofStream) || s.CachedInfo().Config.Replicas <= 1 ||
			lost.Confirms(ingest.StreamRegressed, time.Now()) {
			return valid, err
		}
		projector.Pause(ctx, projector.ConfirmInterval)
	}
}

// checkEnd is an error if the stream ends before messages that were applied. Where it has replicas, another server may
// have them: the one that answered may not lead the stream any more.
func (s *source) checkEnd(ctx context.Context, applied uint64) error {
	end, err := s.end(ctx)
	if err == nil && end < applied {
		return fmt.Errorf("stream %s ends at sequence %d, and its messages up to %d were applied before: "+
			"run the command again",
			s.Name(), end, applied)
	}
	return err
}

// end returns the sequence of the stream's last message.
func (s *source) end(ctx context.Context) (uint64, error) {
	now, err := s.Reopen(ctx, s.js)
	if err != nil {
		return 0, err
	}
	return now.CachedInfo().State.LastSeq, nil
}

func livePositions(ctx context.Context, c Config) (positions map[int16]store.Position, err error) {
	err = withConn(ctx, c.Database, func(conn *pgx.Conn) error {
		positions, err = store.Positions(ctx, conn, liveSchema)
		return err
	})
	return positions, err
}
