package status

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// oldestWatermarkSQL compares with the clock that readers compare with.
const oldestWatermarkSQL = `
	select greatest(extract(epoch from clock_timestamp() - min(watermark)), 0)::float8
	from projection.position
	having count(*) > 0`

// OldestWatermarkAge returns how far the watermark that is furthest behind is behind the database's clock. It is one
// small statement and does not read the stream. The error is pgx.ErrNoRows where no partition has a position.
func OldestWatermarkAge(ctx context.Context, pool *pgxpool.Pool) (time.Duration, error) {
	var seconds float64
	if err := pool.QueryRow(ctx, oldestWatermarkSQL).Scan(&seconds); err != nil {
		return 0, fmt.Errorf("watermarks: %w", err)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}
