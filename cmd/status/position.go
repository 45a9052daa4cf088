package status

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/projector"
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
)

// position is a row of the projection's, and the ledger of what led to it.
type position struct {
	Partition     int
	Stream        string
	StreamCreated time.Time
	Sequence      int64
	Watermark     time.Time
	Coverage      []Coverage // nil: the generation keeps no ledger
}

// fault is why the partition can't go on.
func (p position) fault(info *jetstream.StreamInfo) string {
	switch {
	case p.Stream != info.Config.Name || !p.StreamCreated.Equal(info.Created.Truncate(time.Microsecond)):
		return projector.StreamIdentityChanged
	case uint64(p.Sequence) > info.State.LastSeq:
		return projector.StreamRegressed
	case uint64(p.Sequence)+1 < info.State.FirstSeq:
		return projector.StreamTruncated
	}
	return ""
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
	rows, err := pool.Query(ctx, ownersSQL, projector.LockClass)
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
