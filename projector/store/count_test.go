package store_test

import (
	"context"
	_ "embed"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"callboard/projector/fold/foldtest"
)

//go:embed testdata/miscounted.sql
var miscountedSQL string

// At every commit the counters say what a recount of the rows says.
func TestStore_CountsAreThoseOfTheTables(t *testing.T) {
	s, database, pool := open(t)
	rapid.Check(t, func(r *rapid.T) {
		database.TruncateProjection(t)
		position, err := s.Claim(context.Background(), stream(), 3)
		if err != nil {
			r.Fatal(err)
		}
		for rest := foldtest.RandomHistory(r); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(r, "batch")
			position = commit(r, s, position, rest[:n])
			rest = rest[n:]
			rows, err := pool.Query(context.Background(), miscountedSQL)
			if err != nil {
				r.Fatal(err)
			}
			wrong, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil || len(wrong) > 0 {
				r.Fatalf("%v, %v", wrong, err)
			}
		}
	})
}
