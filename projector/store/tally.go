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
func tally[K comparable](w *writing, changes fold.Tally[K], change, forget string, bind func([]K) []any) {
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

func countKeys(keys []fold.CountKey) []any {
	return []any{
		bindAs(func(k *fold.CountKey) *uuid.UUID { return &k.System }, pgUUID)(keys),
		bindAs(func(k *fold.CountKey) *string { return &k.List }, plain[string])(keys),
		bindAs(func(k *fold.CountKey) *string { return &k.Subset }, plain[string])(keys),
		bindAs(func(k *fold.CountKey) *events.Time { return &k.Day }, events.Time.Std)(keys),
	}
}

func referenceKeys(keys []fold.ReferenceKey) []any {
	return []any{
		bindAs(func(k *fold.ReferenceKey) *uuid.UUID { return &k.System }, pgUUID)(keys),
		bindAs(func(k *fold.ReferenceKey) *string { return &k.Family }, plain[string])(keys),
		bindAs(func(k *fold.ReferenceKey) *string { return &k.Key }, plain[string])(keys),
	}
}
