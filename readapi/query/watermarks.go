package query

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/readapi/partition"
)

//go:embed watermarks.sql
var watermarksSQL string

// Watermarks returns, for each of the phone systems that exist, the instant before which every event is in the tables.
func (p *Projection) Watermarks(ctx context.Context, systems []uuid.UUID) (map[uuid.UUID]time.Time, error) {
	found := make(map[uuid.UUID]time.Time, len(systems))
	for range partition.Attempts {
		absent, err := p.watermarks(ctx, systems, found)
		if err != nil {
			return nil, fmt.Errorf("watermarks: %w", err)
		}
		if systems = absent; len(systems) == 0 {
			return found, nil
		}
	}
	return nil, fmt.Errorf("watermarks: %w", partition.ErrSwitching)
}

// watermarks adds the watermarks of the phone systems that it finds. Absent ones may be in another partition.
func (p *Projection) watermarks(ctx context.Context, systems []uuid.UUID, found map[uuid.UUID]time.Time) (absent []uuid.UUID, err error) {
	ids, partitions := make([]pgtype.UUID, len(systems)), make([]int16, len(systems))
	for i, id := range systems {
		ids[i] = pgUUID(id)
		partitions[i], _ = p.partitions.Of(id)
	}
	err = p.query(ctx, watermarksSQL, []any{partitions, ids}, func(rows pgx.Rows) error {
		var id [16]byte
		var watermark time.Time
		_, err := pgx.ForEachRow(rows, []any{&id, &watermark}, func() error {
			found[id] = watermark
			return nil
		})
		return err
	})
	if err != nil {
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
