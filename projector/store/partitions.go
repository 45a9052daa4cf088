package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"callboard/schema"
)

const (
	partitionsSQL = "select partitions from control.stream where stream = $1 and stream_created = $2"

	firstSQL = "insert into control.stream (stream, stream_created, partitions) values ($1, $2, $3) on conflict do nothing"
)

// Partitions is how many a stream had when it was read first, 0 where nobody has read it.
func RegisteredPartitions(ctx context.Context, db interface {
	QueryRow(ctx context.Context, query string, parameters ...any) pgx.Row
}, stream Stream) (count int, err error) {
	err = db.QueryRow(ctx, partitionsSQL, stream.Name, stream.Created).Scan(&count)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("partitions: %w", err)
	}
	return count, nil
}

// Introduce notes how many partitions a stream has where nobody has read it, and returns how many it had when it was read first. The
// error is [ErrMigration] where there is no place for that.
func (s *Store) RegisterStream(ctx context.Context, stream Stream, partitions int) (first int, err error) {
	if err := schema.CheckMigrated(ctx, s.pool); err != nil {
		return 0, err
	}
	if _, err := s.pool.Exec(ctx, firstSQL, stream.Name, stream.Created, partitions); err != nil {
		return 0, fmt.Errorf("partitions: %w", err)
	}
	return RegisteredPartitions(ctx, s.pool, stream)
}
