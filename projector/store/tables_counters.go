package store

import (
	_ "embed"
	"iter"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/fold"
)

var (
	//go:embed add_day_counts.sql
	addDayCountsSQL string

	//go:embed delete_zero_days.sql
	deleteZeroDaysSQL string

	//go:embed add_reference_counts.sql
	addReferenceCountsSQL string

	//go:embed delete_zero_references.sql
	deleteZeroReferencesSQL string

	//go:embed add_directory_versions.sql
	addDirectoryVersionsSQL string
)

// counter is a row of a table of counters.
type counter[K any] struct {
	Key K
	N   int64
}

// counters ties a table of counters to its changes in a [fold.State].
type counters[K comparable] struct {
	table[counter[K]]
	tally func(*fold.State) fold.Deltas[K]

	addSQL        string // its parameters are those of bind
	deleteZeroSQL string // its parameters are those of bindKeys; empty: the counters never fall
}

func dayCounts() counters[fold.CountKey] {
	type row = counter[fold.CountKey]
	return counters[fold.CountKey]{
		table: newTable("day_count", 4, []column[row]{
			uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.Key.System }),
			textColumn("list", func(r *row) *string { return &r.Key.List }),
			textColumn("subset", func(r *row) *string { return &r.Key.Subset }),
			dateColumn("day", func(r *row) *events.Time { return &r.Key.Day }),
			intColumn("count", func(r *row) *int64 { return &r.N }),
		}),
		tally:  func(s *fold.State) fold.Deltas[fold.CountKey] { return s.Counts },
		addSQL: addDayCountsSQL, deleteZeroSQL: deleteZeroDaysSQL,
	}
}

func referenceCounts() counters[fold.ReferenceKey] {
	type row = counter[fold.ReferenceKey]
	return counters[fold.ReferenceKey]{
		table: newTable("reference_count", 3, []column[row]{
			uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.Key.System }),
			textColumn("family", func(r *row) *string { return &r.Key.Family }),
			textColumn("key", func(r *row) *string { return &r.Key.Key }),
			intColumn("count", func(r *row) *int64 { return &r.N }),
		}),
		tally:  func(s *fold.State) fold.Deltas[fold.ReferenceKey] { return s.References },
		addSQL: addReferenceCountsSQL, deleteZeroSQL: deleteZeroReferencesSQL,
	}
}

func directories() counters[uuid.UUID] {
	type row = counter[uuid.UUID]
	return counters[uuid.UUID]{
		table: newTable("directory", 1, []column[row]{
			uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.Key }),
			intColumn("version", func(r *row) *int64 { return &r.N }),
		}),
		tally:  func(s *fold.State) fold.Deltas[uuid.UUID] { return s.Directories },
		addSQL: addDirectoryVersionsSQL,
	}
}

func (c counters[K]) relation() relation {
	r := c.table.relation(c.all, nil)
	r.queueChanges = c.queueChanges
	return r
}

// all yields the counters of a state that started from nothing. A counter of 0 has no row.
func (c counters[K]) all(s *fold.State) iter.Seq[*counter[K]] {
	return func(yield func(*counter[K]) bool) {
		for key, n := range c.tally(s) {
			if n != 0 && !yield(&counter[K]{key, n}) {
				return
			}
		}
	}
}

// queueChanges queues the changes of counters. A counter that falls to 0 loses its row, so that the rows don't depend on how the events were
// batched.
func (c counters[K]) queueChanges(batch *pgx.Batch, s *fold.State) {
	var changed, lowered []counter[K]
	for key, n := range c.tally(s) {
		if n != 0 {
			changed = append(changed, counter[K]{key, n})
		}
		if n < 0 {
			lowered = append(lowered, counter[K]{Key: key})
		}
	}
	if len(changed) > 0 {
		batch.Queue(c.addSQL, c.bind(changed)...)
	}
	if len(lowered) > 0 {
		batch.Queue(c.deleteZeroSQL, c.bindKeys(lowered)...)
	}
}
