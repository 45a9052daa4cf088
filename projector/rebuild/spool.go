package rebuild

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/replay"
	"callboard/schema"
)

const (
	// checkpointInterval and checkpointBytes are how much of the stream is read again after a crash, at most.
	checkpointInterval = 30 * time.Second
	checkpointBytes    = 1 << 30
)

// spooler reads the stream into a spool, each message once.
type spooler struct {
	*replay.Spool
	source    *source
	subjects  string                // of the messages that are read; empty: all
	resumable bool                  // a later run can continue from checkpoints
	onRead    func(sequence uint64) // called after each portion, with the last sequence

	mu         sync.Mutex // guards what follows
	checkpoint time.Time  // the last one
	bytes      int64      // read since
}

// reach reads all partitions up to a sequence, or to their targets.
func (s *spooler) reach(ctx context.Context, sequence uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.Sequence()
	if from >= sequence {
		return nil
	}
	s.checkpoint = time.Now()
	if err := s.source.read(ctx, s.subjects, from, sequence, s.append); err != nil {
		return err
	}
	s.SkipTo(sequence)
	if !s.resumable {
		return nil
	}
	return s.Checkpoint()
}

// extend reads a partition above its target, up to a sequence.
func (s *spooler) extend(ctx context.Context, partition int16, upTo uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.Spooled(partition)
	if from >= upTo {
		return nil
	}
	err := s.source.read(ctx, events.PartitionFilter(int(partition)), from, upTo, func(messages []events.StoredMessage) error {
		return s.Extend(partition, messages, messages[len(messages)-1].Sequence)
	})
	if err != nil {
		return err
	}
	return s.Extend(partition, nil, upTo)
}

func (s *spooler) append(messages []events.StoredMessage) error {
	for _, m := range messages {
		s.bytes += int64(len(m.Data))
	}
	if err := s.Append(messages); err != nil {
		return err
	}
	s.onRead(s.Sequence())
	if !s.resumable || s.bytes < checkpointBytes && time.Since(s.checkpoint) < checkpointInterval {
		return nil
	}
	s.bytes, s.checkpoint = 0, time.Now()
	return s.Checkpoint()
}

// spoolFolder returns the folder of a generation's spool. Its name tells the generations of several databases apart.
func (c Config) spoolFolder(ctx context.Context, conn *pgx.Conn, g schema.Generation) (string, error) {
	var started int64 // in microseconds
	err := conn.QueryRow(ctx, "select (extract(epoch from started_at) * 1000000)::bigint from control.generation where id = $1", g.ID).Scan(&started)
	if err != nil {
		return "", fmt.Errorf("generation %d: %w", g.ID, err)
	}
	return filepath.Join(c.Spool, fmt.Sprintf("callboard-rebuild-%d-%x", g.ID, started)), nil
}

// drop drops a generation and deletes its spool, if there is one on this machine.
func (c Config) drop(ctx context.Context, tx pgx.Tx, g schema.Generation) error {
	if err := c.deleteSpool(ctx, tx.Conn(), g); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, releaseWatermarksSQL, g.ID); err != nil {
		return fmt.Errorf("release watermarks: %w", err)
	}
	return g.Drop(ctx, tx)
}

func (c Config) deleteSpool(ctx context.Context, conn *pgx.Conn, g schema.Generation) error {
	folder, err := c.spoolFolder(ctx, conn, g)
	if err != nil {
		return err
	}
	return os.RemoveAll(folder)
}
