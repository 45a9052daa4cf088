package status

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// LateCalls are calls that appeared at a time before which all calls had been published, as the call frontier of their phone system says: a
// walk by createdAt can have passed them.
type LateCalls struct {
	Calls        int64 `json:"calls"`
	PhoneSystems int64 `json:"phoneSystems"`
}

var (
	//go:embed has_call_frontier.sql
	hasCallFrontierSQL string

	//go:embed late_calls.sql
	lateCallsSQL string
)

// readLateCalls reads those of phone systems with a call frontier. A generation of an earlier release has none.
func readLateCalls(ctx context.Context, pool *pgxpool.Pool) (late LateCalls, err error) {
	var declared bool
	if err = pool.QueryRow(ctx, hasCallFrontierSQL).Scan(&declared); err == nil && declared {
		err = pool.QueryRow(ctx, lateCallsSQL).Scan(&late.Calls, &late.PhoneSystems)
	}
	if err != nil {
		return late, fmt.Errorf("late calls: %w", err)
	}
	return late, nil
}
