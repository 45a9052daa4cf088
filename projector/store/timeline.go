package store

import (
	"context"
	_ "embed"
	"fmt"
)

//go:embed record_timeline.sql
var recordTimelineSQL string

// Timeline is a timeline of the PostgreSQL server: each failover and each restore of the server begins another one.
type Timeline struct {
	Current  int64
	Previous int64  // the one that was recorded before; 0: none
	Position uint64 // the highest position of a partition
}

// Changed tells whether the server began another timeline since one was recorded.
func (t Timeline) Changed() bool { return t.Previous != 0 && t.Current != t.Previous }

// RecordTimeline records the timeline of the server.
func (s *Store) RecordTimeline(ctx context.Context) (t Timeline, err error) {
	var previous *int64
	if err := s.pool.QueryRow(ctx, recordTimelineSQL).Scan(&t.Current, &previous, &t.Position); err != nil {
		return Timeline{}, fmt.Errorf("timeline: %w", err)
	}
	if previous != nil {
		t.Previous = *previous
	}
	return t, nil
}
