package status

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed dead_letters.sql
var deadLettersSQL string

// Reason is why messages became dead letters.
type Reason struct {
	Reason string `json:"reason"` // its beginning
	Count  int64  `json:"count"`
}

const (
	reasonLength = 80 // in characters
	reasonsShown = 3
)

func (r *Report) readDeadLetters(ctx context.Context, pool *pgxpool.Pool) error {
	row := pool.QueryRow(ctx, deadLettersSQL, reasonLength, reasonsShown)
	if err := row.Scan(&r.DeadLetters, &r.DeadLettersRetrying, &r.DeadLetterReasons); err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	return nil
}
