package rebuild

import (
	"context"
	"fmt"

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
	for _, entity := range append(events.Entities(), "unknown") {
		should, have := folded.Coverage[entity], served[entity]
		if should != have {
			v.collector.add(Difference{
				Table: ledgerTable, Kind: KindChanged, Rows: 1,
				Key:    []Value{{Column: "partition", Should: fmt.Sprint(folded.To.Partition)}, {Column: "entity", Should: string(entity)}},
				Values: []Value{{"counts", have.String(), should.String()}},
			})
		}
	}
	return nil
}
