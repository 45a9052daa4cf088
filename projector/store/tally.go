package store

import (
	_ "embed"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

var (
	//go:embed day_count.sql
	dayCountSQL string

	//go:embed forget_days.sql
	forgetDaysSQL string

	//go:embed reference_count.sql
	referenceCountSQL string

	//go:embed forget_references.sql
	forgetReferencesSQL string
)

// tally queues the changes of counters. One that has come down to nothing is forgotten, so that the table doesn't depend on how
// the events were batched.
func tally[K comparable](w *writing, changes fold.Deltas[K], change, forget string, bind func([]K) []any) {
	var keys, lowered []K
	var by []int64
	for key, n := range changes {
		if n != 0 {
			keys, by = append(keys, key), append(by, n)
		}
		if n < 0 {
			lowered = append(lowered, key)
		}
	}
	if len(keys) > 0 {
		w.batch.Queue(change, append(bind(keys), by)...)
	}
	if len(lowered) > 0 {
		w.batch.Queue(forget, bind(lowered)...)
	}
}

// counted is a row of a counter's table.
type counted[K any] struct {
	Key K
	N   int64
}

func dayCounts() table[counted[fold.CountKey]] {
	type row = counted[fold.CountKey]
	return table[row]{"day_count", 4, append(countColumns(func(r *row) *fold.CountKey { return &r.Key }),
		intColumn("count", func(r *row) *int64 { return &r.N }),
	)}
}

func referenceCounts() table[counted[fold.ReferenceKey]] {
	type row = counted[fold.ReferenceKey]
	return table[row]{"reference_count", 3, append(referenceColumns(func(r *row) *fold.ReferenceKey { return &r.Key }),
		intColumn("count", func(r *row) *int64 { return &r.N }),
	)}
}

func countColumns[R any](key func(*R) *fold.CountKey) []column[R] {
	return []column[R]{
		uuidColumn("system_id", func(r *R) *uuid.UUID { return &key(r).System }),
		textColumn("list", func(r *R) *string { return &key(r).List }),
		textColumn("subset", func(r *R) *string { return &key(r).Subset }),
		dateColumn("day", func(r *R) *events.Time { return &key(r).Day }),
	}
}

func referenceColumns[R any](key func(*R) *fold.ReferenceKey) []column[R] {
	return []column[R]{
		uuidColumn("system_id", func(r *R) *uuid.UUID { return &key(r).System }),
		textColumn("family", func(r *R) *string { return &key(r).Family }),
		textColumn("key", func(r *R) *string { return &key(r).Key }),
	}
}

func countKeys(keys []fold.CountKey) []any { return bindAll(countColumns(same[*fold.CountKey]), keys) }

func referenceKeys(keys []fold.ReferenceKey) []any {
	return bindAll(referenceColumns(same[*fold.ReferenceKey]), keys)
}
