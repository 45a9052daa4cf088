package store

import (
	"context"
	_ "embed"
	"fmt"
)

//go:embed summary.sql
var summarySQL string

// Summary is what the metrics tell about the whole database.
type Summary struct {
	Generation      int64 // the live one
	OpenDeadLetters int64
}

// Summary reads the summary. Its cost grows with the number of dead letters.
func (s *Store) Summary(ctx context.Context) (Summary, error) {
	var summary Summary
	if err := s.pool.QueryRow(ctx, summarySQL).Scan(&summary.Generation, &summary.OpenDeadLetters); err != nil {
		return Summary{}, fmt.Errorf("summary: %w", err)
	}
	return summary, nil
}
