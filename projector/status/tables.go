package status

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/ingest"
	"callboard/projector/store"
	"callboard/schema"
)

var (
	//go:embed positions.sql
	positionsSQL string

	//go:embed min_position.sql
	minPositionSQL string

	//go:embed owners.sql
	ownersSQL string

	//go:embed generations.sql
	generationsSQL string

	//go:embed dead_letters.sql
	deadLettersSQL string
)

// position is a row of the position table with the message accounting of its partition.
type position struct {
	Partition     int
	Stream        uuid.UUID
	Sequence      int64
	LastMessage   int64     // the stream's last message at or below Sequence; 0: none
	LastMessageAt time.Time // when the stream stored it
	Watermark     time.Time
	MessageCounts []MessageCount // by entity
}

// stop returns why the partition is stopped, or nil. registered is the number of partitions that the stream had when
// a projector first read it; 0: none has.
func (p position) stop(ctx context.Context, stream ingest.Source, registered int) (*ingest.StopError, error) {
	err := stream.CheckPosition(ctx, store.Position{
		Stream: p.Stream, Sequence: uint64(p.Sequence),
		LastMessage: uint64(p.LastMessage), LastMessageAt: events.TimeOf(p.LastMessageAt),
	}, registered)
	var stop *ingest.StopError
	if errors.As(err, &stop) {
		return stop, nil
	}
	if err != nil {
		return nil, fmt.Errorf("partition %d: %w", p.Partition, err)
	}
	return nil, nil
}

func readPositions(ctx context.Context, pool *pgxpool.Pool) (map[int]position, error) {
	rows, _ := pool.Query(ctx, positionsSQL)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[position])
	if err != nil {
		return nil, fmt.Errorf("positions: %w", err)
	}
	positions := make(map[int]position)
	for _, p := range list {
		positions[p.Partition] = p
	}
	return positions, nil
}

// ErrOtherStream says that the tables hold events of another stream.
var ErrOtherStream = errors.New("the tables hold events of another stream")

// MinPosition returns the sequence up to which the events of every partition are applied, 0 while a partition has no
// position. The error is [ErrOtherStream] if a position belongs to another stream.
func MinPosition(ctx context.Context, pool *pgxpool.Pool, info *jetstream.StreamInfo) (uint64, error) {
	partitions, err := events.Partitions(info.Config)
	if err != nil {
		return 0, err
	}

	var count int
	var sequence int64
	var other bool
	stream, err := events.StreamID(info.Config)
	if err != nil {
		return 0, err
	}

	err = pool.QueryRow(ctx, minPositionSQL, stream).Scan(&count, &sequence, &other)
	switch {
	case err != nil:
		return 0, fmt.Errorf("positions: %w", err)
	case other:
		return 0, ErrOtherStream
	case count < partitions:
		return 0, nil
	}

	return uint64(sequence), nil
}

// readOwners returns the application names of the projectors that own partitions, by partition.
func readOwners(ctx context.Context, pool *pgxpool.Pool) (map[int]string, error) {
	owners, err := namesByPartition(ctx, pool, ownersSQL)
	if err != nil {
		return nil, fmt.Errorf("owners: %w", err)
	}
	return owners, nil
}

// readNodes returns the server that has a partition's rows; nothing where the projection is on one server.
func readNodes(ctx context.Context, pool *pgxpool.Pool, partitions int) (map[int]string, error) {
	distributed, err := schema.IsDistributed(ctx, pool, "projection.position")
	if err != nil || !distributed {
		return nil, err
	}
	nodes, err := namesByPartition(ctx, pool, schema.NodeOfPartitionSQL, partitions)
	if err != nil {
		return nil, fmt.Errorf("nodes: %w", err)
	}
	return nodes, nil
}

func namesByPartition(ctx context.Context, pool *pgxpool.Pool, sql string, arguments ...any) (map[int]string, error) {
	names := make(map[int]string)
	rows, _ := pool.Query(ctx, sql, arguments...)
	var partition int
	var name string
	_, err := pgx.ForEachRow(rows, []any{&partition, &name}, func() error {
		names[partition] = name
		return nil
	})
	return names, err
}

// Generation is a generation of the projection that was not dropped.
type Generation struct {
	ID         int64      `json:"id"`
	State      string     `json:"state"` // building, live, previous
	StartedAt  time.Time  `json:"startedAt"`
	SwitchedAt *time.Time `json:"switchedAt"` // when it last became live
	Current    bool       `json:"current"`    // it has the definition of this release
}

// States of a generation.
const (
	Building = "building"
	Live     = "live"
)

// Generations returns the generations, the newest first. definition is that of this release.
func Generations(ctx context.Context, pool *pgxpool.Pool, definition []byte) ([]Generation, error) {
	rows, _ := pool.Query(ctx, generationsSQL, definition)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[Generation])
	if err != nil {
		return nil, fmt.Errorf("generations: %w", err)
	}
	return list, nil
}

// live returns the live generation, or nil.
func live(list []Generation) *Generation {
	for i := range list {
		if list[i].State == Live {
			return &list[i]
		}
	}
	return nil
}

// Reason is a reason of dead letters.
type Reason struct {
	Reason string `json:"reason"` // cut to 80 characters
	Count  int64  `json:"count"`
}

const (
	maxReasonLength = 80 // characters
	maxReasons      = 3
)

func (r *Report) readDeadLetters(ctx context.Context, pool *pgxpool.Pool) error {
	row := pool.QueryRow(ctx, deadLettersSQL, maxReasonLength, maxReasons)
	if err := row.Scan(&r.DeadLetters, &r.DeadLettersRetrying, &r.DeadLetterReasons); err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	return nil
}
