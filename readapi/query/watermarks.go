package query

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

//go:embed watermarks.sql
var watermarksSQL string

// Watermarks returns, for each of the phone systems that exist, the instant before which every event is in the tables.
func (p *Projection) Watermarks(ctx context.Context, systems []uuid.UUID) (map[uuid.UUID]time.Time, error) {
	ids := make([]pgtype.UUID, len(systems))
	for i, id := range systems {
		ids[i] = pgUUID(id)
	}
	found := make(map[uuid.UUID]time.Time, len(systems))
	err := p.query(ctx, watermarksSQL, []any{ids}, func(rows pgx.Rows) error {
		for rows.Next() {
			var id [16]byte
			var watermark time.Time
			if err := rows.Scan(&id, &watermark); err != nil {
				return err
			}
			found[id] = watermark
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("watermarks: %w", err)
	}
	return found, nil
}
