package rebuild

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"callboard/projector/store"
	"callboard/schema"
)

var (
	//go:embed building.sql
	buildingSQL string

	//go:embed parts.sql
	partsSQL string

	//go:embed part.sql
	partSQL string

	//go:embed done.sql
	doneSQL string
)

// errNoLive is a database without a live generation.
var errNoLive = errors.New("there is no projection: run 'callboard migrate'")

// liveGeneration is the one that is served.
func liveGeneration(ctx context.Context, conn *pgx.Conn) (g schema.Generation, err error) {
	err = conn.QueryRow(ctx, "select id from control.generation where state = 'live'").Scan(&g.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return g, errNoLive
	}
	if err != nil {
		return g, fmt.Errorf("generation: %w", err)
	}
	return g, nil
}

// foreign tells whether another release built what is served.
func foreign(ctx context.Context, conn *pgx.Conn) (yes bool, err error) {
	err = conn.QueryRow(ctx, "select definition <> $1 from control.generation where state = 'live'", schema.Definition()).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("generation: %w", err)
	}
	return yes, nil
}

// unfinished is a generation that an earlier run began and that this one can go on with. One that it can't go on with is dropped: it
// is another release's, or of another stream.
func unfinished(ctx context.Context, tx pgx.Tx, stream store.Stream) (g schema.Generation, usable bool, err error) {
	err = tx.QueryRow(ctx, buildingSQL, schema.Definition(), stream.Name, stream.Created).Scan(&g.ID, &usable)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return g, false, nil
	case err != nil:
		return g, false, fmt.Errorf("generation: %w", err)
	case !usable:
		return g, false, g.Drop(ctx, tx)
	}
	return g, true, nil
}

// begin makes a generation with its plan.
func begin(ctx context.Context, tx pgx.Tx, stream store.Stream, parts []part) (g schema.Generation, err error) {
	if g, err = schema.NewGeneration(ctx, tx); err != nil {
		return g, err
	}
	if err := g.Strip(ctx, tx); err != nil {
		return g, err
	}
	batch := new(pgx.Batch)
	batch.Queue("update control.generation set stream = $2, stream_created = $3 where id = $1", g.ID, stream.Name, stream.Created)
	for _, p := range parts {
		batch.Queue(partSQL, g.ID, p.target.Partition, p.number, p.systems, int64(p.target.Sequence), p.target.RetrySeq)
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return g, fmt.Errorf("plan: %w", err)
	}
	return g, nil
}

// planned are a generation's parts that are not done.
func planned(ctx context.Context, tx pgx.Tx, g schema.Generation, stream store.Stream) (parts []part, err error) {
	rows, err := tx.Query(ctx, partsSQL, g.ID)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	parts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p part, err error) {
		p.target.Stream = stream
		err = row.Scan(&p.target.Partition, &p.number, &p.systems, &p.target.Sequence, &p.target.RetrySeq)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return parts, nil
}
