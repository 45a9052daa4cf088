package status

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

var (
	//go:embed ledger.sql
	ledgerSQL string

	//go:embed positions.sql
	positionsSQL string

	//go:embed positions_alone.sql
	positionsAloneSQL string

	//go:embed owners.sql
	ownersSQL string

	//go:embed min_position.sql
	minPositionSQL string
)

// ErrOtherStream says that the tables hold events of another stream than the one asked about.
var ErrOtherStream = errors.New("the tables hold events of another stream")

// MinPosition is the sequence up to which the events of every partition are in the tables. It is 0 while a partition has no position.
// The error is [ErrOtherStream] where a position belongs to another stream.
func MinPosition(ctx context.Context, pool *pgxpool.Pool, stream *jetstream.StreamInfo) (uint64, error) {
	partitions, err := events.Partitions(stream.Config)
	if err != nil {
		return 0, err
	}
	var known int
	var sequence int64
	var other bool
	of := ingest.StreamOf(stream)
	err = pool.QueryRow(ctx, minPositionSQL, of.Name, of.Created).Scan(&known, &sequence, &other)
	switch {
	case err != nil:
		return 0, fmt.Errorf("positions: %w", err)
	case other:
		return 0, ErrOtherStream
	case known < partitions:
		return 0, nil
	}
	return uint64(sequence), nil
}

// position is a row of the projection's, and the ledger of what led to it.
type position struct {
	Partition     int
	Stream        string
	StreamCreated time.Time
	Sequence      int64
	LastMessage   int64     // the last message of the stream at or below Sequence; 0: none
	LastMessageAt time.Time // when the stream stored it
	Watermark     time.Time
	MessageCounts []MessageCount // nil: the generation keeps no ledger
}

// stop is why the partition can't go on; nil: it can. The stream had registered partitions when it was first read; 0: it never was.
func (p position) stop(ctx context.Context, stream jetstream.Stream, registered int) (*ingest.StopError, error) {
	err := ingest.CheckPosition(ctx, stream, store.Position{
		Stream: store.Stream{Name: p.Stream, Created: p.StreamCreated}, Sequence: uint64(p.Sequence),
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
	var ledger bool
	if err := pool.QueryRow(ctx, ledgerSQL).Scan(&ledger); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	query := positionsSQL
	if !ledger {
		query = positionsAloneSQL
	}
	rows, err := pool.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("positions: %w", err)
	}
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

// readOwners is the application name of the projector that has a partition, for each that somebody has.
func readOwners(ctx context.Context, pool *pgxpool.Pool) (map[int]string, error) {
	owners := make(map[int]string)
	rows, err := pool.Query(ctx, ownersSQL)
	if err == nil {
		var partition int
		var name string
		_, err = pgx.ForEachRow(rows, []any{&partition, &name}, func() error {
			owners[partition] = name
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("owners: %w", err)
	}
	return owners, nil
}
