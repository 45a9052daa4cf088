package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/schema"
)

//go:embed corrections.sql
var correctionsSQL string

// corrections reads the corrections of a partition that its clock has not reached. Those before are in the rows.
func (s *Store) corrections(ctx context.Context, p Position) (fold.Corrections, error) {
	rows, _ := s.pool.Query(ctx, correctionsSQL, p.Stream, p.Partition, timestamp(p.Clock.Now))
	found := make(fold.Corrections)
	var system [16]byte
	var at events.Time
	_, err := pgx.ForEachRow(rows, []any{&system, (*instant)(&at)}, func() error {
		found[system] = at
		return nil
	})
	return found, err
}

// RaiseUpdatedAt gives the calls of a phone system a least time, in tables that nobody else writes.
func (s *Store) RaiseUpdatedAt(ctx context.Context, partition int16, system uuid.UUID, at events.Time) error {
	_, err := s.pool.Exec(ctx, "update call_log set updated_at = $3 "+
		"where partition = $1 and system_id = $2 and updated_at < $3",
		partition, schema.UUID(system), timestamp(at))
	if err != nil {
		return fmt.Errorf("correct the calls of phone system %s: %w", system, err)
	}
	return nil
}
