package store

import (
	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

func representatives() table[fold.Representative] {
	type row = fold.Representative
	return table[row]{"representative", 2, []column[row]{
		uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
		uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
		intColumn("version", func(r *row) *int64 { return &r.Version }),
		textColumn("name", func(r *row) *string { return &r.Name }),
		textColumn("status", func(r *row) *string { return &r.Status }),
		timeColumn("updated_at", func(r *row) *events.Time { return &r.UpdatedAt }),
	}}
}

func classifications() table[fold.Classification] {
	type row = fold.Classification
	return table[row]{"classification", 3, []column[row]{
		uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
		textColumn("kind", func(r *row) *string { return &r.Kind }),
		textColumn("code", func(r *row) *string { return &r.Code }),
		intColumn("version", func(r *row) *int64 { return &r.Version }),
		textColumn("label", func(r *row) *string { return &r.Label }),
		textColumn("status", func(r *row) *string { return &r.Status }),
		nullFloatColumn("score", func(r *row) *events.Null[float64] { return &r.Score }),
		timeColumn("updated_at", func(r *row) *events.Time { return &r.UpdatedAt }),
	}}
}
