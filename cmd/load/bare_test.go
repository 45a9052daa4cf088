//go:build linux

package load_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/connection"
)

// bareRole is a child that is a bare server: one statement, its typed rows as JSON, and nothing else. It has no keys, budgets, audit, logs,
// names of references or cursors. Its encoder is as fast as a plain one can be: it writes each row before it reads the next, without
// reflection.
const (
	bareRole = "bare"
	bareURL  = "CALLBOARD_LOAD_POSTGRES"
)

// startBare starts a bare server as a process and returns its URL. If the plan is pinned, its sessions have the settings of the reader's.
func (i *installation) startBare(name string, pinned bool) (server *process, base string) {
	i.Helper()
	u, err := url.Parse(i.postgres.UserURL("callboard_reader", i.password, i.database))
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
	server = startProcess(i, name, os.Args[0], map[string]string{childRole: bareRole, bareURL: u.String()})
	return server, "http://" + server.Await(`listening on (\S+)`)[1]
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
	mux.HandleFunc("GET /report", typedPage(pool, reportColumns(), oldestFirst))
	mux.HandleFunc("GET /list", typedPage(pool, listColumns(), newestFirst))
	mux.HandleFunc("GET /json", jsonPage(pool, reportColumns()))
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

// column is a column of a bare server's rows.
type column struct {
	member, name string
	value        func() any // returns a new variable of the column's type
}

func typed[T any]() any { return new(T) }

// selectSQL returns the statement of a page. In JSON's, the columns have the names of members.
func selectSQL(columns []column, order string, members bool) string {
	var list []string
	for _, c := range columns {
		name := c.name
		if members {
			name += ` as "` + c.member + `"`
		}
		list = append(list, name)
	}
	return "select " + strings.Join(list, ", ") + " from projection.call_log where system_id = $1 and created_at >= $2 and created_at < $3 order by " +
		order + " limit " + strconv.Itoa(pageRows)
}

// The orders of pages.
const (
	oldestFirst = "created_at, id"
	newestFirst = "created_at desc, id desc"
)

// typedPage answers with a page of typed rows.
func typedPage(pool *pgxpool.Pool, columns []column, order string) http.HandlerFunc {
	sql := selectSQL(columns, order, false)
	return func(w http.ResponseWriter, r *http.Request) {
		arguments, err := bareArguments(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		rows, _ := pool.Query(r.Context(), sql, arguments...)
		values := make([]any, len(columns))
		for i, c := range columns {
			values[i] = c.value()
		}
		b := append(make([]byte, 0, 128<<10), `{"data":[`...)
		_, err = pgx.ForEachRow(rows, values, func() error {
			b = append(appendRow(b, columns, values), ',')
			return nil
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(bytes.TrimSuffix(b, []byte(",")), "]}"...)) // the client may have left
	}
}

func appendRow(b []byte, columns []column, values []any) []byte {
	before := `{"`
	for i, c := range columns {
		b = append(append(append(b, before...), c.member...), `":`...)
		before = `,"`
		b = appendValue(b, values[i])
	}
	return append(b, '}')
}

// appendValue writes a value of one of the columns' types.
func appendValue(b []byte, value any) []byte {
	switch v := value.(type) {
	case *pgtype.Text:
		if v.Valid {
			b, _ = jsontext.AppendQuote(b, v.String) // PostgreSQL's text is valid UTF-8
			return b
		}
	case *pgtype.UUID:
		if v.Valid {
			text, _ := uuid.UUID(v.Bytes).MarshalText() // never an error
			return append(append(append(b, '"'), text...), '"')
		}
	case *pgtype.Timestamptz:
		if v.Valid {
			return append(v.Time.UTC().AppendFormat(append(b, '"'), "2006-01-02T15:04:05.000Z"), '"')
		}
	case *pgtype.Int4:
		if v.Valid {
			return strconv.AppendInt(b, int64(v.Int32), 10)
		}
	case *pgtype.Float8:
		if v.Valid {
			return strconv.AppendFloat(b, v.Float64, 'g', -1, 64)
		}
	case *pgtype.Bool:
		if v.Valid {
			return strconv.AppendBool(b, v.Bool)
		}
	case *json.RawMessage:
		return append(b, *v...)
	default:
		panic(fmt.Sprintf("a column of type %T", value))
	}
	return append(b, "null"...)
}

// jsonPage answers with a page that PostgreSQL makes.
func jsonPage(pool *pgxpool.Pool, columns []column) http.HandlerFunc {
	sql := "select json_build_object('data', coalesce(json_agg(page), '[]')) from (" + selectSQL(columns, oldestFirst, true) + ") page"
	return func(w http.ResponseWriter, r *http.Request) {
		arguments, err := bareArguments(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		rows, _ := pool.Query(r.Context(), sql, arguments...)
		body, err := pgx.CollectOneRow(rows, pgx.RowTo[[]byte])
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // the client may have left
	}
}

// reportColumns are the 47 columns that a report row is made from.
func reportColumns() []column {
	return []column{
		{"id", "id", typed[pgtype.UUID]},
		{"callSid", "call_sid", typed[pgtype.Text]},
		{"parentCallSid", "parent_call_sid", typed[pgtype.Text]},
		{"direction", "direction", typed[pgtype.Text]},
		{"startTime", "start_time", typed[pgtype.Timestamptz]},
		{"endTime", "end_time", typed[pgtype.Timestamptz]},
		{"durationSeconds", "duration", typed[pgtype.Int4]},
		{"createdAt", "created_at", typed[pgtype.Timestamptz]},
		{"updatedAt", "updated_at", typed[pgtype.Timestamptz]},
		{"from", "from_party", typed[pgtype.Text]},
		{"fromDisplay", "from_display", typed[pgtype.Text]},
		{"fromNumber", "from_number", typed[pgtype.Text]},
		{"fromName", "from_name", typed[pgtype.Text]},
		{"to", "to_party", typed[pgtype.Text]},
		{"toDisplay", "to_display", typed[pgtype.Text]},
		{"toNumber", "to_number", typed[pgtype.Text]},
		{"forwardedFrom", "forwarded_from", typed[pgtype.Text]},
		{"status", "status", typed[pgtype.Text]},
		{"outcome", "outcome", typed[pgtype.Text]},
		{"callOutcomeCode", "call_outcome_code", typed[pgtype.Text]},
		{"isConverted", "is_converted", typed[pgtype.Bool]},
		{"conversionValue", "conversion_value", typed[pgtype.Text]},
		{"outcomeSource", "outcome_source", typed[pgtype.Text]},
		{"categoryCode", "category", typed[pgtype.Text]},
		{"overallSentimentCode", "overall_sentiment", typed[pgtype.Text]},
		{"overallSentimentScore", "overall_sentiment_score", typed[pgtype.Float8]},
		{"employeeSentimentCode", "employee_sentiment", typed[pgtype.Text]},
		{"employeeSentimentScore", "employee_sentiment_score", typed[pgtype.Float8]},
		{"customerSentimentCode", "customer_sentiment", typed[pgtype.Text]},
		{"customerSentimentScore", "customer_sentiment_score", typed[pgtype.Float8]},
		{"sentimentSource", "sentiment_source", typed[pgtype.Text]},
		{"scorecardScore", "scorecard_score", typed[pgtype.Float8]},
		{"representativeState", "representative_state", typed[pgtype.Text]},
		{"representativeId", "representative_id", typed[pgtype.UUID]},
		{"representativeConfidence", "representative_confidence", typed[pgtype.Float8]},
		{"representativeSource", "representative_source", typed[pgtype.Text]},
		{"recordingSid", "recording_sid", typed[pgtype.Text]},
		{"recordingDurationSeconds", "recording_duration", typed[pgtype.Int4]},
		{"transcriptionStatus", "transcription_status", typed[pgtype.Text]},
		{"transcriptTextBytes", "transcript_text_bytes", typed[pgtype.Int4]},
		{"callGroupId", "call_group_id", typed[pgtype.UUID]},
		{"answeredByExtensionId", "answered_by_extension_id", typed[pgtype.UUID]},
		{"fromExtensionId", "from_extension_id", typed[pgtype.UUID]},
		{"isEmergency", "is_emergency", typed[pgtype.Bool]},
		{"isEdited", "is_edited", typed[pgtype.Bool]},
		{"tags", "tags", typed[json.RawMessage]},
		{"routeSummary", "route_summary", typed[pgtype.Text]},
	}
}

// listColumns are the columns of the call log list.
func listColumns() []column {
	return []column{
		{"id", "id", typed[pgtype.UUID]},
		{"phoneSystemId", "system_id", typed[pgtype.UUID]},
		{"callSid", "call_sid", typed[pgtype.Text]},
		{"parentCallSid", "parent_call_sid", typed[pgtype.Text]},
		{"direction", "direction", typed[pgtype.Text]},
		{"status", "status", typed[pgtype.Text]},
		{"outcome", "outcome", typed[pgtype.Text]},
		{"from", "from_party", typed[pgtype.Text]},
		{"fromName", "from_name", typed[pgtype.Text]},
		{"to", "to_party", typed[pgtype.Text]},
		{"createdAt", "created_at", typed[pgtype.Timestamptz]},
		{"startTime", "start_time", typed[pgtype.Timestamptz]},
		{"endTime", "end_time", typed[pgtype.Timestamptz]},
		{"duration", "duration", typed[pgtype.Int4]},
		{"recordingSid", "recording_sid", typed[pgtype.Text]},
		{"recordingDuration", "recording_duration", typed[pgtype.Int4]},
	}
}

// listRow is a row of the call log list.
type listRow struct {
	ID, PhoneSystemID           uuid.UUID
	CallSid                     string
	ParentCallSid               *string
	Direction, Status, From, To string
	Outcome, FromName           *string
	CreatedAt                   time.Time
	StartTime, EndTime          *time.Time
	Duration, RecordingDuration *int
	RecordingSid                *string
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
