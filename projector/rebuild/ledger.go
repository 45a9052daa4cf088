package rebuild

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/store"
)

// ledgerTable is where what became of messages is counted; a row is about no phone system.
const ledgerTable = "coverage"

// ledger compares what a partition's messages became with what is on record.
func (v *verification) ledger(ctx context.Context, tx pgx.Tx, folded store.Commit) error {
	if !v.counted {
		return nil
	}
	served, err := store.ReadCoverage(ctx, tx.Conn(), live, folded.To.Partition)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	lines := make(map[events.Entity]struct{})
	for _, side := range []store.Coverage{folded.Coverage, served} {
		for entity := range side {
			lines[entity] = struct{}{}
		}
	}
	for _, entity := range slices.Sorted(maps.Keys(lines)) {
		should, have := folded.Coverage[entity], served[entity]
		if should != have {
			v.collector.add(Difference{
				Table: ledgerTable, Kind: KindChanged, Rows: 1,
				Key:    []Value{{Column: "partition", Should: strconv.Itoa(int(folded.To.Partition))}, {Column: "entity", Should: string(entity)}},
				Values: []Value{{"counts", have.String(), should.String()}},
			})
		}
	}
	return nil
}
