package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/fold"
)

// Load reads every row that the events touch, in one round trip: two where a deletion doesn't say which call or
// voicemail a facet belongs to. notify says whether the fold may derive notices; it does if there are webhook
// endpoints.
func (tx *Tx) Load(ctx context.Context, partition int16, list []events.Event, notify bool) (*fold.State, error) {
	s := &fold.State{Partition: partition}

	// The deletion of a facet may name no call or voicemail, so the facet's stored row comes first.
	s.Need(fold.FacetDeletions(list))
	if err := tx.loadNeeded(ctx, s, new(pgx.Batch)); err != nil {
		return nil, err
	}
	s.NeedOwnerRows()

	pipeline := new(pgx.Batch)
	if notify {
		pipeline.Queue("select used from webhook.in_use").
			QueryRow(func(row pgx.Row) error { return row.Scan(&s.Notify) })
	}

	s.Need(list)
	if err := tx.loadNeeded(ctx, s, pipeline); err != nil {
		return nil, err
	}
	return s, nil
}

// loadNeeded loads the rows that the state needs.
func (tx *Tx) loadNeeded(ctx context.Context, s *fold.State, pipeline *pgx.Batch) error {
	for _, r := range tx.store.tables {
		if r.load != nil {
			r.load(s, pipeline)
		}
	}
	if err := tx.send(ctx, pipeline); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	return nil
}
