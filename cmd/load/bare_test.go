//go:build linux

package load_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/connection"
)

// bareRole is a child that is a bare server: a statement, its rows as JSON, and nothing else. It knows no keys, budgets, audit, logs,
// names of references or cursors.
const (
	bareRole = "bare"
	bareURL  = "CALLBOARD_LOAD_POSTGRES"
)

// startBare starts a bare server as a process and returns its URL. If the plan is pinned, its sessions have the settings of the reader's.
func (i *installation) startBare(name string, pinned bool) (server *process, base string) {
	i.Helper()
	u, err := url.Parse(i.postgres.UserURL("callboard_reader", i.password, database))
	if err != nil {
		i.Fatal(err)
	}
	values := u.Query()
	values.Set("pool_max_conns", "16") // as the reader has by default
	if pinned {
		for name, value := range connection.ReaderSettings(nil) {
			values.Set(name, value)
		}
	}
	u.RawQuery = values.Encode()
	server = startProcess(i, name, os.Args[0], nil, map[string]string{childRole: bareRole, bareURL: u.String()})
	return server, "http://" + server.awaitOutput(`listening on (\S+)`)[1]
}

// serveBare serves until the process is killed.
func serveBare() error {
	config, err := pgxpool.ParseConfig(os.Getenv(bareURL))
	if err != nil {
		return err
	}
	pool, err := pgxpool.NewWithConfig(background(), config)
	if err != nil {
		return err
	}
	defer pool.Close()
	listener, err := new(net.ListenConfig).Listen(background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("listening on", listener.Addr())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /report", typedPage[reportRow](pool, reportSQL))
	mux.HandleFunc("GET /list", typedPage[listRow](pool, listSQL))
	mux.HandleFunc("GET /json", jsonPage(pool))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.Serve(listener)
}

// bareArguments returns the parameters of a bare server's request.
func bareArguments(r *http.Request) (arguments []any, err error) {
	var system pgtype.UUID
	if err := system.Scan(r.FormValue("system")); err != nil {
		return nil, err
	}
	arguments = append(arguments, system)
	for _, name := range []string{"from", "until"} {
		at, err := time.Parse(time.RFC3339, r.FormValue(name))
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, at)
	}
	return arguments, nil
}

// row is a pointer to a row of columns.
type row[T any] interface {
	*T
	targets() []any // of its columns
}

// typedPage answers with a page of typed rows.
func typedPage[T any, P row[T]](pool *pgxpool.Pool, sql string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		arguments, err := bareArguments(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		rows, err := pool.Query(r.Context(), sql, arguments...)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer rows.Close()
		page := make([]T, 0, pageRows)
		for rows.Next() {
			page = append(page, *new(T))
			if err = rows.Scan(P(&page[len(page)-1]).targets()...); err != nil {
				break
			}
		}
		if err == nil {
			err = rows.Err()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(struct { // the client may have left
			Data []T `json:"data"`
		}{page})
	}
}

// jsonPage answers with a page that PostgreSQL makes.
func jsonPage(pool *pgxpool.Pool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		arguments, err := bareArguments(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var body []byte
		rows, _ := pool.Query(r.Context(), jsonSQL, arguments...) // the error is that of the next line
		if body, err = pgx.CollectOneRow(rows, pgx.RowTo[[]byte]); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // the client may have left
	}
}

const (
	reportSQL = `select ` + reportColumns + `
from projection.call_log where system_id = $1 and created_at >= $2 and created_at < $3 order by created_at, id limit 100`

	listSQL = `select id, system_id, call_sid, parent_call_sid, direction, status, outcome, from_party, from_name, to_party, created_at,
start_time, end_time, duration, recording_sid, recording_duration
from projection.call_log where system_id = $1 and created_at >= $2 and created_at < $3 order by created_at desc, id desc limit 100`

	jsonSQL = `select json_build_object('data', coalesce(json_agg(page), '[]')) from (
select id, call_sid as "callSid", parent_call_sid as "parentCallSid", direction, start_time as "startTime", end_time as "endTime",
duration as "durationSeconds", created_at as "createdAt", updated_at as "updatedAt", from_party as "from", from_display as "fromDisplay",
from_number as "fromNumber", from_name as "fromName", to_party as "to", to_display as "toDisplay", to_number as "toNumber",
forwarded_from as "forwardedFrom", status, outcome, call_outcome_code as "callOutcomeCode", is_converted as "isConverted",
conversion_value as "conversionValue", outcome_source as "outcomeSource", category, overall_sentiment, overall_sentiment_score,
employee_sentiment, employee_sentiment_score, customer_sentiment, customer_sentiment_score, sentiment_source as "sentimentSource",
scorecard_score as "scorecardScore", representative_state, representative_id, representative_confidence, representative_source,
recording_sid as "recordingSid", recording_duration as "recordingDurationSeconds", transcription_status as "transcriptionStatus",
transcript_text_bytes, call_group_id, answered_by_extension_id, from_extension_id, is_emergency as "isEmergency", is_edited as "isEdited",
tags, route_summary as "routeSummary"
from projection.call_log where system_id = $1 and created_at >= $2 and created_at < $3 order by created_at, id limit 100) page`

	reportColumns = `id, call_sid, parent_call_sid, direction, start_time, end_time, duration, created_at, updated_at, from_party, from_display,
from_number, from_name, to_party, to_display, to_number, forwarded_from, status, outcome, call_outcome_code, is_converted,
conversion_value, outcome_source, category, overall_sentiment, overall_sentiment_score, employee_sentiment, employee_sentiment_score,
customer_sentiment, customer_sentiment_score, sentiment_source, scorecard_score, representative_state, representative_id,
representative_confidence, representative_source, recording_sid, recording_duration, transcription_status, transcript_text_bytes,
call_group_id, answered_by_extension_id, from_extension_id, is_emergency, is_edited, tags, route_summary`
)

// reportRow is what a report row is made from: 47 columns.
type reportRow struct {
	ID                       pgtype.UUID     `json:"id"`
	CallSid                  string          `json:"callSid"`
	ParentCallSid            *string         `json:"parentCallSid"`
	Direction                string          `json:"direction"`
	StartTime                *time.Time      `json:"startTime"`
	EndTime                  *time.Time      `json:"endTime"`
	Duration                 *int32          `json:"durationSeconds"`
	CreatedAt                time.Time       `json:"createdAt"`
	UpdatedAt                time.Time       `json:"updatedAt"`
	From                     string          `json:"from"`
	FromDisplay              *string         `json:"fromDisplay"`
	FromNumber               *string         `json:"fromNumber"`
	FromName                 *string         `json:"fromName"`
	To                       string          `json:"to"`
	ToDisplay                *string         `json:"toDisplay"`
	ToNumber                 *string         `json:"toNumber"`
	ForwardedFrom            *string         `json:"forwardedFrom"`
	Status                   string          `json:"status"`
	Outcome                  *string         `json:"outcome"`
	CallOutcomeCode          *string         `json:"callOutcomeCode"`
	IsConverted              bool            `json:"isConverted"`
	ConversionValue          *string         `json:"conversionValue"`
	OutcomeSource            *string         `json:"outcomeSource"`
	Category                 *string         `json:"category"`
	OverallSentiment         *string         `json:"overall_sentiment"`
	OverallSentimentScore    *float64        `json:"overall_sentiment_score"`
	EmployeeSentiment        *string         `json:"employee_sentiment"`
	EmployeeSentimentScore   *float64        `json:"employee_sentiment_score"`
	CustomerSentiment        *string         `json:"customer_sentiment"`
	CustomerSentimentScore   *float64        `json:"customer_sentiment_score"`
	SentimentSource          *string         `json:"sentimentSource"`
	ScorecardScore           *float64        `json:"scorecardScore"`
	RepresentativeState      string          `json:"representative_state"`
	RepresentativeID         pgtype.UUID     `json:"representative_id"`
	RepresentativeConfidence *float64        `json:"representative_confidence"`
	RepresentativeSource     *string         `json:"representative_source"`
	RecordingSid             *string         `json:"recordingSid"`
	RecordingDuration        *int32          `json:"recordingDurationSeconds"`
	TranscriptionStatus      string          `json:"transcriptionStatus"`
	TranscriptTextBytes      *int32          `json:"transcript_text_bytes"`
	CallGroupID              pgtype.UUID     `json:"call_group_id"`
	AnsweredByExtensionID    pgtype.UUID     `json:"answered_by_extension_id"`
	FromExtensionID          pgtype.UUID     `json:"from_extension_id"`
	IsEmergency              bool            `json:"isEmergency"`
	IsEdited                 bool            `json:"isEdited"`
	Tags                     json.RawMessage `json:"tags"`
	RouteSummary             *string         `json:"routeSummary"`
}

func (r *reportRow) targets() []any {
	return []any{
		&r.ID, &r.CallSid, &r.ParentCallSid, &r.Direction, &r.StartTime, &r.EndTime, &r.Duration, &r.CreatedAt, &r.UpdatedAt, &r.From, &r.FromDisplay,
		&r.FromNumber, &r.FromName, &r.To, &r.ToDisplay, &r.ToNumber, &r.ForwardedFrom, &r.Status, &r.Outcome, &r.CallOutcomeCode, &r.IsConverted,
		&r.ConversionValue, &r.OutcomeSource, &r.Category, &r.OverallSentiment, &r.OverallSentimentScore, &r.EmployeeSentiment, &r.EmployeeSentimentScore,
		&r.CustomerSentiment, &r.CustomerSentimentScore, &r.SentimentSource, &r.ScorecardScore, &r.RepresentativeState, &r.RepresentativeID,
		&r.RepresentativeConfidence, &r.RepresentativeSource, &r.RecordingSid, &r.RecordingDuration, &r.TranscriptionStatus, &r.TranscriptTextBytes,
		&r.CallGroupID, &r.AnsweredByExtensionID, &r.FromExtensionID, &r.IsEmergency, &r.IsEdited, &r.Tags, &r.RouteSummary,
	}
}

// listRow is a row of the call log list.
type listRow struct {
	ID                pgtype.UUID `json:"id"`
	System            pgtype.UUID `json:"phoneSystemId"`
	CallSid           string      `json:"callSid"`
	ParentCallSid     *string     `json:"parentCallSid"`
	Direction         string      `json:"direction"`
	Status            string      `json:"status"`
	Outcome           *string     `json:"outcome"`
	From              string      `json:"from"`
	FromName          *string     `json:"fromName"`
	To                string      `json:"to"`
	CreatedAt         time.Time   `json:"createdAt"`
	StartTime         *time.Time  `json:"startTime"`
	EndTime           *time.Time  `json:"endTime"`
	Duration          *int32      `json:"duration"`
	RecordingSid      *string     `json:"recordingSid"`
	RecordingDuration *int32      `json:"recordingDuration"`
}

func (r *listRow) targets() []any {
	return []any{
		&r.ID, &r.System, &r.CallSid, &r.ParentCallSid, &r.Direction, &r.Status, &r.Outcome, &r.From, &r.FromName, &r.To, &r.CreatedAt,
		&r.StartTime, &r.EndTime, &r.Duration, &r.RecordingSid, &r.RecordingDuration,
	}
}

// sharedReportRow is what all answers with report rows have under the same names.
type sharedReportRow struct {
	ID                  string
	CallSid             string
	ParentCallSid       *string
	Direction           string
	StartTime, EndTime  *time.Time
	DurationSeconds     *int32
	CreatedAt           time.Time
	UpdatedAt           time.Time
	From, To            string
	FromName            *string
	Status              string
	Outcome             *string
	IsConverted         bool
	ConversionValue     *string
	ScorecardScore      *float64
	RecordingSid        *string
	TranscriptionStatus string
	Tags                []map[string]any
	RouteSummary        *string
}

// decodeRows decodes a page's rows.
func decodeRows[T any](tb testing.TB, body []byte) []T {
	tb.Helper()
	var page struct{ Data []T }
	if err := json.Unmarshal(body, &page); err != nil {
		tb.Fatalf("%v: %.200s", err, body)
	}
	return page.Data
}
