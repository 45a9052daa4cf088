package query

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/readapi/access"
	"callboard/schema"
)

var (
	//go:embed watermarks.sql
	watermarksSQL string

	//go:embed watermarks_of_partition.sql
	watermarksOfPartitionSQL string
)

// Watermarks returns, for each of the phone systems that exist, the instant before which every event is in the tables. The map also has those
// that were found before an error: the phone systems of other nodes, if a node does not answer.
func (p *Projection) Watermarks(ctx context.Context, systems []uuid.UUID) (map[uuid.UUID]time.Time, error) {
	found := make(map[uuid.UUID]time.Time, len(systems))
	for range access.Attempts {
		absent, err := p.watermarks(ctx, systems, found)
		if err != nil {
			return found, fmt.Errorf("watermarks: %w", err)
		}
		if systems = absent; len(systems) == 0 {
			return found, nil
		}
	}
	return found, fmt.Errorf("watermarks: %w", access.ErrSwitching)
}

// watermarks adds the watermarks of the phone systems that it finds. Absent ones may be in another partition.
func (p *Projection) watermarks(ctx context.Context, systems []uuid.UUID, found map[uuid.UUID]time.Time) (absent []uuid.UUID, err error) {
	if err := p.readWatermarks(ctx, systems, found); err != nil {
		return nil, err
	}
	for _, id := range systems {
		if _, ok := found[id]; ok {
			continue
		}
		in, count := p.partitions.Of(id)
		missing, err := p.missing(p.runShort(ctx), id, in, count)
		if err != nil {
			return nil, err
		}
		if !missing {
			absent = append(absent, id)
		}
	}
	return absent, nil
}

// readWatermarks adds the watermarks of the phone systems that are in their partitions.
func (p *Projection) readWatermarks(ctx context.Context, systems []uuid.UUID, found map[uuid.UUID]time.Time) (err error) {
	ids, partitions := make([]pgtype.UUID, len(systems)), make([]int16, len(systems))
	byPartition := make(map[int16][]pgtype.UUID)
	for i, id := range systems {
		ids[i] = schema.UUID(id)
		partitions[i], _ = p.partitions.Of(id)
		byPartition[partitions[i]] = append(byPartition[partitions[i]], ids[i])
	}
	read := func(rows pgx.Rows) error {
		var id [16]byte
		var watermark time.Time
		_, err := pgx.ForEachRow(rows, []any{&id, &watermark}, func() error {
			found[id] = watermark
			return nil
		})
		return err
	}
	nodes, err := p.nodes.Exist(ctx, p.pool)
	if err != nil {
		return errors.Join(ctx.Err(), err)
	}
	if !nodes {
		return p.query(ctx, watermarksSQL, []any{partitions, ids}, read)
	}
	for in, ids := range byPartition {
		err = errors.Join(err, p.query(ctx, watermarksOfPartitionSQL, []any{in, ids}, read))
	}
	return err
}
