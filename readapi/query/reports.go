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

// Report is a row of the call log report with the current names of its references.
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
	Text                pgtype.Text // null: the status isn't completed, or transcripts were not requested
	Turns               []byte      // JSON
}

// Reference is a reference by id. Its ID is not valid if there is none, or if its target was deleted.
type Reference struct {
	ID           pgtype.UUID
	Name, Number string
}

// Code is a classification's code with its current label.
type Code struct {
	Code  pgtype.Text
	Score pgtype.Float8 // the analysis's or, if that is null, the classification's
	Label string        // empty: the code has no classification
}

// Representative is whom a call is attributed to. Its ID is valid if the state is identified and the representative exists.
type Representative struct {
	Reference
	State      string // identified, unknown, not_analyzed
	Confidence pgtype.Float8
	Source     pgtype.Text
}

// ReportFilter says which report rows are requested: those after a key, with a timestamp before Until.
type ReportFilter struct {
	System      uuid.UUID
	TimeField   TimeField
	After       ReportKey
	Until       time.Time
	Limit       int64 // at most 100
	Transcripts bool
	MaxStored   int64 // bytes of stored transcripts; above them, no text is read
}

// TimeField is the timestamp by which report rows are selected and ordered.
type TimeField string

// The time fields.
const (
	CreatedAt TimeField = "createdAt"
	UpdatedAt TimeField = "updatedAt"
)

// ReportKey is a report row's key in the order of a time field. A row with this key need not exist.
type ReportKey struct {
	Time time.Time
	ID   uuid.UUID
}

// ReportKeyBefore is the last key before a time. Stored times have whole milliseconds.
func ReportKeyBefore(from time.Time) ReportKey {
	return ReportKey{Time: from.Add(-time.Millisecond), ID: uuid.Max}
}

// Key is the row's key in the order of the time field.
func (r *Report) Key(field TimeField) ReportKey {
	if field == UpdatedAt {
		return ReportKey{Time: r.UpdatedAt.Time, ID: r.ID}
	}
	return ReportKey{Time: r.CreatedAt.Time, ID: r.ID}
}

// ReportPage is a page of report rows in ascending order.
type ReportPage struct {
	CompleteThrough time.Time // every event stored before it is in the answer
	Now             time.Time // by the database's clock
	StoredBytes     int64     // of the transcripts of all the page's rows
	More            bool      // there are rows after the page
	Rows            []Report
}

// Reports reads pages of report rows, in ascending order of either time field.
type Reports struct {
	projection                 *Projection
	createdAtSQL, updatedAtSQL string
}

//go:embed list_call_log_reports.sql
var listCallLogReportsSQL string

// CallLogReports reads calls as report rows.
func (p *Projection) CallLogReports() *Reports {
	by := func(column string) string { return strings.ReplaceAll(listCallLogReportsSQL, "{{time}}", column) }
	return &Reports{projection: p, createdAtSQL: by("created_at"), updatedAtSQL: by("updated_at")}
}

// Page reads a page. It returns [ErrNotFound] if the phone system doesn't exist.
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
	return sql, []any{pgUUID(f.System), f.After.Time, pgUUID(f.After.ID), f.Until, f.Limit, f.Transcripts, f.MaxStored}
}

//go:embed list_call_log_reports_watermark.sql
var listCallLogReportsWatermarkSQL string

// Watermark is the instant before which every event is in the tables. It returns [ErrNotFound] if the phone system doesn't exist.
func (r *Reports) Watermark(ctx context.Context, system uuid.UUID) (time.Time, error) {
	var watermark time.Time
	err := r.projection.query(ctx, listCallLogReportsWatermarkSQL, []any{pgUUID(system)}, func(rows pgx.Rows) error {
		if !rows.Next() {
			return noRow(rows)
		}
		return rows.Scan(&watermark)
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("watermark: %w", err)
	}
	return watermark, nil
}
