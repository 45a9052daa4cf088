package query

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// CallLog is a row of the call log's list.
type CallLog struct {
	ID                uuid.UUID
	CallSid           string
	ParentCallSid     pgtype.Text
	Direction         string
	Status            string
	Outcome           pgtype.Text
	From              string
	FromName          pgtype.Text
	To                string
	CreatedAt         pgtype.Timestamptz
	StartTime         pgtype.Timestamptz
	EndTime           pgtype.Timestamptz
	Duration          pgtype.Int4 // seconds
	RecordingSid      pgtype.Text
	RecordingDuration pgtype.Int4 // seconds
}

// CallLogDetail is a call log with its transcript's text, which is null exactly where the status isn't completed.
type CallLogDetail struct {
	CallLog
	TranscribedText     pgtype.Text
	TranscriptionStatus string
}

// CallLogFilter says which call logs are asked for.
type CallLogFilter struct {
	System  uuid.UUID
	Own     Narrowing
	CallSid string // empty: any
	Window  Window
	Offset  int64
	Limit   int64
}

//go:embed list_call_logs.sql
var listCallLogsSQL string

//go:embed list_call_logs_own.sql
var listCallLogsOwnSQL string

//go:embed list_call_logs_by_call_sid.sql
var listCallLogsByCallSidSQL string

//go:embed list_call_logs_own_by_call_sid.sql
var listCallLogsOwnByCallSidSQL string

// ListCallLogs is a page of the call log, newest first, then by descending id. The error is [ErrNotFound] where the phone
// system is not there.
func (p *Projection) ListCallLogs(ctx context.Context, f CallLogFilter) (Page[CallLog], error) {
	sql, arguments := f.statement()
	page, err := page(ctx, p, f.Limit, (*CallLog).targets, sql, arguments)
	if err != nil {
		return Page[CallLog]{}, fmt.Errorf("list call logs: %w", err)
	}
	return page, nil
}

func (f CallLogFilter) statement() (sql string, arguments []any) {
	w := f.Window.normal()
	if f.CallSid != "" {
		arguments = []any{key(f.System), w.From, w.Until, f.Offset, f.Limit, f.CallSid}
		if f.Own.On {
			return listCallLogsOwnByCallSidSQL, append(arguments, f.Own.key())
		}
		return listCallLogsByCallSidSQL, arguments
	}
	wholeFrom, wholeUntil := w.wholeDays()
	arguments = []any{key(f.System), w.From, w.Until, wholeFrom, wholeUntil, f.Offset, f.Limit}
	if f.Own.On {
		return listCallLogsOwnSQL, append(arguments, f.Own.key())
	}
	return listCallLogsSQL, arguments
}

//go:embed get_call_log.sql
var getCallLogSQL string

//go:embed get_call_log_own.sql
var getCallLogOwnSQL string

// CallLogKey names one call log.
type CallLogKey struct {
	System uuid.UUID
	Own    Narrowing
	ID     uuid.UUID
}

// GetCallLog is one call log. The error is [ErrNotFound] where it is not there.
func (p *Projection) GetCallLog(ctx context.Context, k CallLogKey) (Found[CallLogDetail], error) {
	sql, arguments := getCallLogSQL, []any{key(k.System), key(k.ID)}
	if k.Own.On {
		sql, arguments = getCallLogOwnSQL, append(arguments, k.Own.key())
	}
	found, err := found(ctx, p, (*CallLogDetail).targets, sql, arguments)
	if err != nil {
		return Found[CallLogDetail]{}, fmt.Errorf("get call log: %w", err)
	}
	return found, nil
}

// targets are where the columns of a list's row go. An identifier is scanned as its bytes, since its own Scan takes text.
func (r *CallLog) targets() []any {
	return []any{
		(*[16]byte)(&r.ID), &r.CallSid, &r.ParentCallSid, &r.Direction, &r.Status, &r.Outcome, &r.From, &r.FromName, &r.To,
		&r.CreatedAt, &r.StartTime, &r.EndTime, &r.Duration, &r.RecordingSid, &r.RecordingDuration,
	}
}

func (r *CallLogDetail) targets() []any {
	return append(r.CallLog.targets(), &r.TranscribedText, &r.TranscriptionStatus)
}
