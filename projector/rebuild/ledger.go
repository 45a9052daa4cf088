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
const ledgerTable = "message_count"

// ledger compares what a partition's messages became with what is on record.
func (v *verification) ledger(ctx context.Context, tx pgx.Tx, folded store.ChangeSet) error {
	if !v.counted {
		return nil
	}
	served, err := store.ReadMessageCounts(ctx, tx.Conn(), live, folded.To.Partition)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	v.collector.ledger(folded.To.Partition, folded.MessageCounts, served)
	return nil
}

// ledger notes the lines of a partition's ledger that differ.
func (c *collector) ledger(partition int16, should, served store.MessageCounts) {
	lines := make(map[events.Entity]struct{})
	for _, side := range []store.MessageCounts{should, served} {
		for entity := range side {
			lines[entity] = struct{}{}
		}
	}
	for _, entity := range slices.Sorted(maps.Keys(lines)) {
		if should[entity] == served[entity] {
			continue
		}
		c.add(Difference{
			Table: ledgerTable, Kind: KindChanged, Rows: 1,
			Key:    []Value{{Column: "partition", Expected: strconv.Itoa(int(partition))}, {Column: "entity", Expected: string(entity)}},
			Values: []Value{{"counts", served[entity].String(), should[entity].String()}},
		})
	}
}

// ledgers compares what both generations' messages became.
func (k *check) ledgers(ctx context.Context) error {
	var counted bool
	if err := k.live.QueryRow(ctx, "select to_regclass($1) is not null", live+"."+ledgerTable).Scan(&counted); err != nil || !counted {
		return err
	}
	for partition := range int16(k.partitions) {
		should, err := store.ReadMessageCounts(ctx, k.next.Conn(), k.follower.schema, partition)
		if err != nil {
			return err
		}
		served, err := store.ReadMessageCounts(ctx, k.live.Conn(), live, partition)
		if err != nil {
			return err
		}
		k.collector.ledger(partition, should, served)
	}
	return nil
}
