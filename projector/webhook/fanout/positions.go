package fanout

import (
	"context"
	_ "embed"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/schema"
)

var (
	//go:embed positions.sql
	positionsSQL string

	//go:embed position.sql
	positionSQL string
)

const partitionsSQL = "select coalesce(max(partitions), 0) from projection.generation"

// Position is up to which sequence something has happened to a partition of a stream.
type Position struct {
	Stream    uuid.UUID
	Partition int16
	Sequence  int64
}

// querier is a pool or a connection.
type querier interface {
	Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row
}

// readPositions returns up to which sequence a database has the rows of each partition. Keys have no sequence. A database without a projection
// has no positions; a partition whose node does not answer is missing.
func readPositions(ctx context.Context, db querier) (map[Position]int64, error) {
	all := make(map[Position]int64)
	err := addPositions(ctx, db, all, positionsSQL)
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return all, err
	}
	clear(all)
	if refused.Code == pgerrcode.UndefinedTable || refused.Code == pgerrcode.InvalidSchemaName {
		return all, nil // no projection yet, or one that is being replaced
	}
	nodes, nodesErr := schema.HasNodes(ctx, db)
	if nodesErr != nil || !nodes {
		return all, errors.Join(err, nodesErr)
	}
	var partitions int16
	if err := db.QueryRow(ctx, partitionsSQL).Scan(&partitions); err != nil {
		return all, err
	}
	for partition := range partitions {
		if err := addPositions(ctx, db, all, positionSQL, partition); err != nil && !errors.As(err, &refused) {
			return all, err
		}
	}
	return all, nil
}

// addPositions adds the positions that a statement selects.
func addPositions(ctx context.Context, db querier, all map[Position]int64, sql string, arguments ...any) error {
	rows, _ := db.Query(ctx, sql, arguments...)
	var p Position
	var sequence int64
	_, err := pgx.ForEachRow(rows, []any{&p.Stream, &p.Partition, &sequence}, func() error {
		all[p] = sequence
		return nil
	})
	return err
}

// minimum returns the lower of the sequences of partitions that both have. A nil map has everything.
func minimum(a, b map[Position]int64) map[Position]int64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	both := make(map[Position]int64)
	for p, sequence := range a {
		if other, ok := b[p]; ok {
			both[p] = min(sequence, other)
		}
	}
	return both
}

// columns are positions as the parameters of a statement: one array per column.
func columns(positions []Position) []any {
	n := len(positions)
	streams, partitions, sequences := make([]uuid.UUID, n), make([]int16, n), make([]int64, n)
	for i, p := range positions {
		streams[i], partitions[i], sequences[i] = p.Stream, p.Partition, p.Sequence
	}
	return []any{streams, partitions, sequences}
}
