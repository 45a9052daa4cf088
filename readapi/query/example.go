package query

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const newestRecordingSQL = "select recording_sid from projection.recording " +
	"where system_id = $1 and status = 'ready' and owner = 'call' order by created_at desc limit 1"

// NewestRecording returns the SID of a phone system's newest recording that can be played, as an example of one. The
// error is [pgx.ErrNoRows] if there is none.
func NewestRecording(ctx context.Context, pool *pgxpool.Pool, system uuid.UUID) (sid string, err error) {
	rows, _ := pool.Query(ctx, newestRecordingSQL, system)
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
}
