package query

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Dimension is something that retained calls refer to. Nil members are null.
type Dimension struct {
	Family    string  // call_group, extension, representative, or a classification's kind
	Key       string  // an id or a code
	Name      *string // or label; nil: the code has no classification
	Number    *string
	Status    *string
	Source    *string // of a code's label: phone_system_override, global_default or fallback
	Score     *float64
	UpdatedAt *time.Time
}

//go:embed get_call_log_report_dimensions.sql
var getCallLogReportDimensionsSQL string

// GetCallLogReportDimensions reads a complete snapshot: everything that a phone system's retained calls refer to, by
// family and then by key. It calls begin with the snapshot's time, and then add with each dimension. A statement that
// is run again calls begin again. The error is [ErrNotFound] if the phone system doesn't exist.
func (p *Projection) GetCallLogReportDimensions(
	ctx context.Context, system uuid.UUID, begin func(generatedAt time.Time) (add func(Dimension)),
) (completeThrough time.Time, err error) {
	err = p.ofSystem(p.runLong(ctx), getCallLogReportDimensionsSQL, system, nil, func(rows pgx.Rows) error {
		return readDimensions(rows, &completeThrough, begin)
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("get call log report dimensions: %w", err)
	}
	return completeThrough, nil
}

// readDimensions reads the rows of the statement, which begin with the watermark and the snapshot's time.
func readDimensions(rows pgx.Rows, completeThrough *time.Time, begin func(time.Time) func(Dimension)) error {
	const common = 2
	var d Dimension
	var generatedAt time.Time

	if !rows.Next() {
		return noRow(rows)
	}
	if err := scanFirst(rows, completeThrough, &generatedAt); err != nil {
		return err
	}
	add := begin(generatedAt)

	// A snapshot without dimensions is one row whose other columns are null.
	columns := append(make([]any, common), &d.Family, &d.Key, &d.Name, &d.Number, &d.Status, &d.Source, &d.Score,
		&d.UpdatedAt)
	for more := rows.RawValues()[common] != nil; more; more = rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return err
		}
		add(d)
	}
	return nil
}
