package query

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Report is a row of the call log report with the names of what it refers to, as they are now.
type Report struct {
	ID                  uuid.UUID
	CallSid             string
	ParentCallSid       pgtype.Text
	Direction           string
	StartTime           pgtype.Timestamptz
	EndTime             pgtype.Timestamptz
	Duration            pgtype.Int4 // seconds
	CreatedAt           pgtype.Timestamptz
	UpdatedAt           pgtype.Timestamptz
	From                string
	FromDisplay         pgtype.Text
	FromNumber          pgtype.Text
	FromName            pgtype.Text
	To                  string
	ToDisplay           pgtype.Text
	ToNumber            pgtype.Text
	ForwardedFrom       pgtype.Text
	Status              string
	Outcome             pgtype.Text
	CallOutcomeCode     pgtype.Text
	IsConverted         bool
	ConversionValue     pgtype.Text
	OutcomeSource       pgtype.Text
	Category            Code
	OverallSentiment    Code
	EmployeeSentiment   Code
	CustomerSentiment   Code
	SentimentSource     pgtype.Text
	ScorecardScore      pgtype.Float8
	Representative      Representative
	RecordingSid        pgtype.Text
	RecordingDuration   pgtype.Int4 // seconds
	CallGroup           Reference
	AnsweredByExtension Reference
	FromExtension       Reference
	IsEmergency         bool
	IsEdited            bool
	Tags                []byte // JSON
	RouteSummary        pgtype.Text
	TranscriptionStatus string
	Text                pgtype.Text // null where the status isn't completed, or transcripts were not asked for
	Turns               []byte      // JSON
}

// Reference names something by its id. It is not valid where there is none, or where what it named is gone.
type Reference struct {
	ID           pgtype.UUID
	Name, Number string
}

// Code is a classification's code with its present definition.
type Code struct {
	Code  pgtype.Text
	Score pgtype.Float8 // the analysis's own, else the definition's
	Label string        // empty where the code has no definition
}

// Representative is whom a call is attributed to. Its reference is valid where the state is identified and the representative
// is there.
type Representative struct {
	Reference
	State      string // identified, unknown, not_analyzed
	Confidence pgtype.Float8
	Source     pgtype.Text
}

// ReportFilter says which report rows are asked for: those behind a position, with a timestamp before Until.
type ReportFilter struct {
	System      uuid.UUID
	TimeField   TimeField
	After       Position
	Until       time.Time
	Limit       int64 // at most 100
	Transcripts bool
	MaxStored   int64 // bytes of stored transcripts; above it no text is read
}

// TimeField is the timestamp by which report rows are chosen and ordered.
type TimeField string

// The time fields.
const (
	CreatedAt TimeField = "createdAt"
	UpdatedAt TimeField = "updatedAt"
)

// Position is a place in the order of report rows: behind the row of that timestamp and id, whether or not there is one.
type Position struct {
	Time time.Time
	ID   uuid.UUID
}

// Before is the position in front of every row from a time on. Stored times have whole milliseconds.
func Before(from time.Time) Position {
	return Position{Time: from.Add(-time.Millisecond), ID: uuid.Max}
}

// Position is where a row stands in the order by the time field.
func (r *Report) Position(field TimeField) Position {
	if field == UpdatedAt {
		return Position{Time: r.UpdatedAt.Time, ID: r.ID}
	}
	return Position{Time: r.CreatedAt.Time, ID: r.ID}
}

// ReportPage is a page of report rows in ascending order.
type ReportPage struct {
	CompleteThrough time.Time // every event stored before this instant is in the answer
	Now             time.Time // by the database's clock
	StoredBytes     int64     // of the transcripts of the page's rows
	More            bool      // there are rows behind the page
	Rows            []Report
}

// Reports are a phone system's report rows, in ascending order by either time field.
type Reports struct {
	projection                 *Projection
	createdAtSQL, updatedAtSQL string
}

//go:embed list_call_log_reports.sql
var listCallLogReportsSQL string

// CallLogReports are the call logs as the reports show them.
func (p *Projection) CallLogReports() *Reports {
	by := func(column string) string { return strings.ReplaceAll(listCallLogReportsSQL, "{{time}}", column) }
	return &Reports{projection: p, createdAtSQL: by("created_at"), updatedAtSQL: by("updated_at")}
}

// Page reads a page. The error is [ErrNotFound] where the phone system is not there.
func (r *Reports) Page(ctx context.Context, f ReportFilter) (ReportPage, error) {
	var page ReportPage
	sql, arguments := r.statement(f)
	err := r.projection.query(ctx, sql, arguments, func(rows pgx.Rows) (err error) {
		page, err = readReports(rows, f.Limit)
		return err
	})
	if err != nil {
		return ReportPage{}, fmt.Errorf("list call log reports: %w", err)
	}
	return page, nil
}

func (r *Reports) statement(f ReportFilter) (sql string, arguments []any) {
	sql = r.createdAtSQL
	if f.TimeField == UpdatedAt {
		sql = r.updatedAtSQL
	}
	return sql, []any{key(f.System), f.After.Time, key(f.After.ID), f.Until, f.Limit, f.Transcripts, f.MaxStored}
}

//go:embed list_call_log_reports_watermark.sql
var listCallLogReportsWatermarkSQL string

// Watermark is the instant before which every event is in the tables. The error is [ErrNotFound] where the phone system is
// not there.
func (r *Reports) Watermark(ctx context.Context, system uuid.UUID) (time.Time, error) {
	var watermark time.Time
	err := r.projection.query(ctx, listCallLogReportsWatermarkSQL, []any{key(system)}, func(rows pgx.Rows) error {
		if !rows.Next() {
			return absent(rows)
		}
		return rows.Scan(&watermark)
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("watermark: %w", err)
	}
	return watermark, nil
}
