package query

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/readapi/encode"
)

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

// column is the field's column.
func (t TimeField) column() string {
	if t == UpdatedAt {
		return "updated_at"
	}
	return "created_at"
}

// ReportKey is a report row's key in the order of a time field. A row with this key need not exist.
type ReportKey struct {
	Time time.Time
	ID   uuid.UUID
}

// ReportKeyBefore is the last key before a time. Stored times have whole milliseconds.
func ReportKeyBefore(from time.Time) ReportKey {
	return ReportKey{Time: from.Add(-time.Millisecond), ID: uuid.Max}
}

// ReportPage is what a page's statement returns beside its rows, which are in ascending order.
type ReportPage struct {
	Snapshot
	Now         time.Time // by the database's clock
	StoredBytes int64     // of the transcripts of all the page's rows
	More        bool      // there are rows after the page
	Count       int       // of the page's rows
	Last        ReportKey // of the page's last row
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
	by := func(t TimeField) string {
		return strings.ReplaceAll(p.compose(listCallLogReportsSQL), "{{time}}", t.column())
	}
	return &Reports{projection: p, createdAtSQL: by(CreatedAt), updatedAtSQL: by(UpdatedAt)}
}

// Page appends a page's rows to out, with the current names of their references. It returns [ErrNotFound] if the phone system doesn't
// exist.
func (r *Reports) Page(ctx context.Context, f ReportFilter, out *encode.Rows) (ReportPage, error) {
	var page ReportPage
	sql, arguments := r.statement(f)
	query := r.projection.query
	if f.Transcripts {
		query = r.projection.queryLong
	}
	err := query(ctx, sql, arguments, func(rows pgx.Rows) error {
		page = ReportPage{}
		return page.read(rows, r.projection.targets(&page.Snapshot), f, out)
	})
	if err != nil {
		return ReportPage{}, fmt.Errorf("list call log reports: %w", err)
	}
	return page, nil
}

// transcriptColumns is the number of the statement's last columns, which are null unless transcripts are requested.
const transcriptColumns = 2

// read appends the rows of a report page's statement. Every row begins with common columns; the first row also has the directory. A
// page without rows is returned as one row whose other columns are null.
func (p *ReportPage) read(rows pgx.Rows, snapshot []any, f ReportFilter, out *encode.Rows) error {
	var d directory
	common := append(snapshot, &p.Now, &p.StoredBytes)
	common = append(common, d.targets()...)
	if !rows.Next() {
		return noRow(rows)
	}
	if err := scanFirst(rows, common...); err != nil {
		return err
	}
	first, end := len(common), len(rows.FieldDescriptions())
	if !f.Transcripts {
		end -= transcriptColumns
	}
	columns := rows.FieldDescriptions()[first:end]
	if err := out.Begin(columns); err != nil {
		return err
	}
	out.Names = d.resolve()
	key := f.TimeField.keyOf(columns)
	for more := rows.RawValues()[first] != nil; more; more = rows.Next() {
		if int64(out.Count) == f.Limit {
			p.More = true
			continue
		}
		row := rows.RawValues()[first:end]
		if err := out.Append(row); err != nil {
			return err
		}
		p.Last = key(row)
	}
	p.Count = out.Count
	return nil
}

// keyOf returns the function that reads a row's key from its columns.
func (t TimeField) keyOf(columns []pgconn.FieldDescription) func(row [][]byte) ReportKey {
	at := func(name string) int {
		return slices.IndexFunc(columns, func(c pgconn.FieldDescription) bool { return c.Name == name })
	}
	id, instant := at("id"), at(t.column())
	return func(row [][]byte) ReportKey {
		return ReportKey{Time: encode.InstantOf(row[instant]), ID: uuid.UUID(row[id])}
	}
}

func (r *Reports) statement(f ReportFilter) (sql string, arguments []any) {
	sql = r.createdAtSQL
	if f.TimeField == UpdatedAt {
		sql = r.updatedAtSQL
	}
	return sql, []any{pgUUID(f.System), f.After.Time, pgUUID(f.After.ID), f.Until, f.Limit, f.Transcripts, f.MaxStored}
}
