package rebuild

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
)

var (
	//go:embed insert_corrections.sql
	insertCorrectionsSQL string

	//go:embed repeat_corrections.sql
	repeatCorrectionsSQL string
)

// corrections are the columns of rows of control.correction.
type corrections struct {
	partitions []int16
	systems    []*uuid.UUID // nil: all of the partition
	calls      []*uuid.UUID // nil: all of the phone system
	since      []time.Time
}

func (c *corrections) add(partition int16, system, call *uuid.UUID, since events.Time) {
	c.partitions, c.systems = append(c.partitions, partition), append(c.systems, system)
	c.calls, c.since = append(c.calls, call), append(c.since, since.Std())
}

// addCalls adds the changed calls of a phone system.
func (c *corrections) addCalls(partition int16, system uuid.UUID, changed *changedSystem) {
	if changed.all {
		c.add(partition, &system, nil, 0)
	}
	for call := range changed.calls {
		c.add(partition, &system, &call, 0)
	}
}

// record records the corrections, with the watermarks of the live generation, whose commits wait.
func (c *corrections) record(ctx context.Context, tx pgx.Tx) error {
	if len(c.partitions) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, insertCorrectionsSQL, c.partitions, c.systems, c.calls, c.since); err != nil {
		return fmt.Errorf("record the corrections: %w", err)
	}
	return nil
}

// correct records which calls show other values in the new generation, unless NoAnnounce is set. Where the comparison has found anything,
// calls that changed since its first snapshot are among them: they were not compared as they are now. Where the stream is another one, all
// rows are later than those before. A partition that had applied nothing has promised nothing.
func (b *builder) correct(ctx context.Context, tx pgx.Tx) error {
	if b.config.NoAnnounce || b.result.NewHistory {
		return nil
	}
	if b.changed == nil {
		return b.repeatCorrections(ctx, tx)
	}
	var c corrections
	for system, s := range b.changed.systems {
		if partition := int16(events.Partition(system, b.partitions)); b.served[partition].Sequence > 0 {
			c.addCalls(partition, system, s)
		}
	}
	if found := b.result.Comparison; found.Differs() || found.OtherDefinition {
		for partition, p := range b.served {
			if p.Sequence > 0 {
				c.add(partition, nil, nil, min(p.Clock.Watermark, b.distrust.maxPlausible()))
			}
		}
	}
	return c.record(ctx, tx)
}

// repeatCorrections records which calls show other values after a rollback, which compares nothing: those that were corrected since.
func (b *builder) repeatCorrections(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, repeatCorrectionsSQL, b.wentLive); err != nil {
		return fmt.Errorf("repeat the corrections: %w", err)
	}
	return nil
}
