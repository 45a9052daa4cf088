package status

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed watermark_ages.sql
var watermarkAgesSQL string

// WatermarkAges returns how far the watermark of each partition is behind the database's clock. It is one small statement and does not
// read the stream. A partition without a position is missing.
func WatermarkAges(ctx context.Context, pool *pgxpool.Pool) (map[int]time.Duration, error) {
	ages := make(map[int]time.Duration)
	rows, _ := pool.Query(ctx, watermarkAgesSQL)
	var partition int
	var seconds float64
	_, err := pgx.ForEachRow(rows, []any{&partition, &seconds}, func() error {
		ages[partition] = time.Duration(seconds * float64(time.Second))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("watermarks: %w", err)
	}
	return ages, nil
}
