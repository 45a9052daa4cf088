package store

import (
	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
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
		tally: func(s *fold.State) fold.Deltas[fold.CountKey] { return s.Counts },
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
		tally: func(s *fold.State) fold.Deltas[fold.ReferenceKey] { return s.References },
	}
}

func directories() counters[uuid.UUID] {
	return counters[uuid.UUID]{
		table: newTable("directory", 1, directoryColumns()),
		tally: func(s *fold.State) fold.Deltas[uuid.UUID] {
			return directoriesWhere(s, func(system uuid.UUID) bool { return system != uuid.Nil })
		},
	}
}

func globalDirectory() counters[uuid.UUID] {
	return counters[uuid.UUID]{
		table: newGlobalTable("global_directory", 1, directoryColumns()),
		tally: func(s *fold.State) fold.Deltas[uuid.UUID] {
			return directoriesWhere(s, func(system uuid.UUID) bool { return system == uuid.Nil })
		},
	}
}

func directoryColumns() []column[counter[uuid.UUID]] {
	type row = counter[uuid.UUID]
	return []column[row]{
		uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.Key }),
		intColumn("version", func(r *row) *int64 { return &r.N }),
	}
}

func directoriesWhere(s *fold.State, keep func(uuid.UUID) bool) fold.Deltas[uuid.UUID] {
	versions := make(fold.Deltas[uuid.UUID])
	for system, n := range s.Directories {
		if keep(system) {
			versions[system] = n
		}
	}
	return versions
}

func (c counters[K]) relation() relation {
	return relation{name: c.name, changes: c.changes}
}

// changes are the statements that change counters. A counter that falls to 0 loses its row, so that the rows don't depend on how the events
// were batched.
func (c counters[K]) changes(s *fold.State) (statements []statement) {
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
		statements = append(statements, statement{sql: c.addSQL, arguments: c.arguments(s.Partition, c.bind(len(changed), pointers(changed)))})
	}
	if len(lowered) > 0 {
		statements = append(statements, statement{sql: c.deleteZeroSQL, arguments: c.arguments(s.Partition, c.bindKeys(len(lowered), pointers(lowered)))})
	}
	return statements
}
