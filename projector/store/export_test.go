package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// BareInserts empties the projection's big tables and writes the same rows back with nothing but INSERT .. SELECT unnest .. ON
// CONFLICT, one statement and transaction a batch: the baseline of a benchmark.
func BareInserts(ctx context.Context, pool *pgxpool.Pool, batch int) (rows int, took time.Duration, err error) {
	for _, run := range []func() (int, time.Duration, error){
		func() (int, time.Duration, error) { return bare(ctx, pool, callLogs(), batch) },
		func() (int, time.Duration, error) { return bare(ctx, pool, extensionCalls(), batch) },
		func() (int, time.Duration, error) { return bare(ctx, pool, transcripts(), batch) },
		func() (int, time.Duration, error) { return bare(ctx, pool, transcriptTexts(), batch) },
		func() (int, time.Duration, error) { return bare(ctx, pool, recordings(), batch) },
		func() (int, time.Duration, error) { return bare(ctx, pool, analyses(), batch) },
		func() (int, time.Duration, error) { return bare(ctx, pool, extensionAnalyses(), batch) },
		func() (int, time.Duration, error) { return bare(ctx, pool, voicemails(), batch) },
	} {
		n, d, err := run()
		if err != nil {
			return 0, 0, err
		}
		rows, took = rows+n, took+d
	}
	return rows, took, nil
}

func bare[R any](ctx context.Context, pool *pgxpool.Pool, t table[R], batch int) (int, time.Duration, error) {
	result, err := pool.Query(ctx, t.selection())
	if err != nil {
		return 0, 0, err
	}
	var rows []R
	if err := t.collect(result, func(row R) { rows = append(rows, row) }); err != nil {
		return 0, 0, err
	}
	if _, err := pool.Exec(ctx, "delete from "+t.name); err != nil {
		return 0, 0, err
	}
	if _, err := pool.Exec(ctx, "vacuum "+t.name); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	for part := range slices.Chunk(rows, batch) {
		if _, err := pool.Exec(ctx, t.upsert(), t.bind(t.columns, part)...); err != nil {
			return 0, 0, err
		}
	}
	return len(rows), time.Since(began), nil
}
