package query

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Dimension is something that retained calls refer to.
type Dimension struct {
	Family    string      // call_group, extension, representative, or a classification's kind
	Key       string      // an id or a code
	Name      pgtype.Text // or label; null: the code has no classification
	Number    pgtype.Text
	Status    pgtype.Text
	Source    pgtype.Text // of a code's label: phone_system_override, global_default or fallback
	Score     pgtype.Float8
	UpdatedAt pgtype.Timestamptz
}

// Dimensions is everything that a phone system's retained calls refer to, by family and then by key.
type Dimensions struct {
	Snapshot
	GeneratedAt time.Time
	Rows        []Dimension
}

//go:embed get_call_log_report_dimensions.sql
var getCallLogReportDimensionsSQL string

// GetCallLogReportDimensions reads a complete snapshot. It returns [ErrNotFound] if the phone system doesn't exist.
func (p *Projection) GetCallLogReportDimensions(ctx context.Context, system uuid.UUID) (Dimensions, error) {
	var result Dimensions
	err := p.ofSystem(p.runLong(ctx), p.dimensionsSQL, system, nil, func(rows pgx.Rows) (err error) {
		result, err = p.readDimensions(rows)
		return err
	})
	if err != nil {
		return Dimensions{}, fmt.Errorf("get call log report dimensions: %w", err)
	}
	return result, nil
}

func (p *Projection) readDimensions(rows pgx.Rows) (Dimensions, error) {
	var result Dimensions
	var d Dimension
	common := append(p.targets(&result.Snapshot), &result.GeneratedAt)
	into := append(common, &d.Family, &d.Key, &d.Name, &d.Number, &d.Status, &d.Source, &d.Score, &d.UpdatedAt)
	if !rows.Next() {
		return result, noRow(rows)
	}
	if rows.RawValues()[len(common)] == nil { // there are no dimensions
		clear(into[len(common):])
		return result, rows.Scan(into...)
	}
	for more := true; more; more = rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return result, err
		}
		result.Rows = append(result.Rows, d)
	}
	return result, nil
}
