package query

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

//go:embed freshness.sql
var freshnessSQL string

// Freshness tells how far the rows of a database are complete.
type Freshness struct {
	Generation int64
	Watermarks map[int]time.Time // by partition
}

// Freshness reads all watermarks.
func (p *Projection) Freshness(ctx context.Context) (Freshness, error) {
	var f Freshness
	err := p.runShort(ctx)(freshnessSQL, nil, func(rows pgx.Rows) error {
		// A statement that runs again fills another map.
		f.Watermarks = make(map[int]time.Time)

		for rows.Next() {
			var partition pgtype.Int2
			var watermark pgtype.Timestamptz
			if err := rows.Scan(&f.Generation, &partition, &watermark); err != nil {
				return err
			}

			// A projection without any position has one row without a partition.
			if partition.Valid {
				f.Watermarks[int(partition.Int16)] = watermark.Time
			}
		}
		return nil
	})
	if err != nil {
		return Freshness{}, fmt.Errorf("freshness: %w", err)
	}
	return f, nil
}
