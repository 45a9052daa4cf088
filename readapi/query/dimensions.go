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

//go:embed get_call_log_report_dimensions.sql
var getCallLogReportDimensionsSQL string

// GetCallLogReportDimensions reads a complete snapshot: everything that a phone system's retained calls refer to, by
// family and then by key. begin is called with the snapshot's time, and what it returns with each dimension. A
// statement that is run again calls begin again. The error is [ErrNotFound] if the phone system doesn't exist.
func (p *Projection) GetCallLogReportDimensions(
	ctx context.Context, system uuid.UUID, begin func(generatedAt time.Time) (add func(*Dimension)),
) (snapshot Snapshot, err error) {
	err = p.ofSystem(p.runLong(ctx), p.dimensionsSQL, system, nil, func(rows pgx.Rows) error {
		return p.readDimensions(rows, &snapshot, begin)
	})
	if err != nil {
		return Snapshot{}, fmt.Errorf("get call log report dimensions: %w", err)
	}
	return snapshot, nil
}

func (p *Projection) readDimensions(rows pgx.Rows, snapshot *Snapshot, begin func(time.Time) func(*Dimension)) error {
	var d Dimension
	var generatedAt time.Time
	common := append(p.targets(snapshot), &generatedAt)
	if !rows.Next() {
		return noRow(rows)
	}
	if err := scanFirst(rows, common...); err != nil {
		return err
	}
	add := begin(generatedAt)

	// A snapshot without dimensions is one row whose other columns are null.
	into := append(make([]any, len(common)), &d.Family, &d.Key, &d.Name, &d.Number, &d.Status, &d.Source, &d.Score, &d.UpdatedAt)
	for more := rows.RawValues()[len(common)] != nil; more; more = rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		add(&d)
	}
	return nil
}
