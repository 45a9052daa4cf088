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
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/internal/run/connection"
)

// bareRole is a child that is a bare server: one statement, its typed rows as JSON, and nothing else. It has no keys,
// budgets, audit, logs, names of references or cursors. Its encoder is as fast as a plain one can be: it writes each
// row before it reads the next, without reflection.
const (
	bareRole = "bare"
	bareURL  = "CALLBOARD_LOAD_POSTGRES"
)

// The columns that a report row is made from, and those of the call log list.
const (
	reportColumns = `id, call_sid, parent_call_sid, direction, start_time, end_time, duration, created_at, updated_at,
		from_party, from_display, from_number, from_name, to_party, to_display, to_number, forwarded_from, status, outcome,
		call_outcome_code, is_converted, conversion_value, outcome_source, category, overall_sentiment,
		overall_sentiment_score, employee_sentiment, employee_sentiment_score, customer_sentiment,
		customer_sentiment_score, sentiment_source, scorecard_score, representative_state, representative_id,
		representative_confidence, representative_source, recording_sid, recording_duration, transcription_status,
		transcript_text_bytes, call_group_id, answered_by_extension_id, from_extension_id, is_emergency, is_edited, tags,
		route_summary`
	listColumns = `id, system_id, call_sid, parent_call_sid, direction, status, outcome, from_party, from_name, to_party,
		created_at, start_time, end_time, duration, recording_sid, recording_duration`
)

// startBare starts a bare server as a process and returns its URL. Its sessions have the settings of the reader's.
func (i *installation) startBare() (server *process, base string) {
	i.Helper()
	u, err := url.Parse(i.postgres.UserURL("callboard_reader", i.password, i.database))
	if err != nil {
		i.Fatal(err)
	}
	values := u.Query()
	values.Set("pool_max_conns", "16") // as the reader has by default
	for name, value := range connection.ReaderSettings() {
		values.Set(name, value)
	}
	u.RawQuery = values.Encode()
	server = startProcess(i, "bare", os.Args[0], map[string]string{childRole: bareRole, bareURL: u.String()})
	return server, "http://" + server.Await(`listening on (\S+)`)[1]
}

// serveBare serves until the process is killed.
func serveBare() error {
	pool, err := pgxpool.New(background(), os.Getenv(bareURL))
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
	mux.HandleFunc("GET /report", barePage(pool, reportColumns, "created_at, id"))
	mux.HandleFunc("GET /list", barePage(pool, listColumns, "created_at desc, id desc"))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.Serve(listener)
}

// barePage answers with a page of rows.
func barePage(pool *pgxpool.Pool, columns, order string) http.HandlerFunc {
	sql := "select " + columns + ` from projection.call_log
		where system_id = $1 and created_at >= $2 and created_at < $3 order by ` + order + " limit " + strconv.Itoa(pageRows)
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := readBare(pool, sql, r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // the client may have left
	}
}

func readBare(pool *pgxpool.Pool, sql string, r *http.Request) (body []byte, err error) {
	system, err := uuid.Parse(r.FormValue("system"))
	if err != nil {
		return nil, err
	}
	from, err := time.Parse(time.RFC3339, r.FormValue("from"))
	if err != nil {
		return nil, err
	}
	until, err := time.Parse(time.RFC3339, r.FormValue("until"))
	if err != nil {
		return nil, err
	}

	rows, err := pool.Query(r.Context(), sql, system.String(), from, until)
	if err != nil {
		return nil, err
	}
	fields := rows.FieldDescriptions()
	values := make([]any, len(fields))
	for i, field := range fields {
		values[i] = newValue(field.DataTypeOID)
	}
	body = append(make([]byte, 0, 128<<10), `{"data":[`...)
	_, err = pgx.ForEachRow(rows, values, func() error {
		before := `{"`
		for i, field := range fields {
			body = append(append(append(body, before...), field.Name...), `":`...)
			body = appendValue(body, values[i])
			before = `,"`
		}
		body = append(body, "},"...)
		return nil
	})
	return append(bytes.TrimSuffix(body, []byte(",")), "]}"...), err
}

// newValue returns a variable for the values of a column.
func newValue(oid uint32) any {
	switch oid {
	case pgtype.UUIDOID:
		return new(pgtype.UUID)
	case pgtype.TimestamptzOID:
		return new(pgtype.Timestamptz)
	case pgtype.Int4OID:
		return new(pgtype.Int4)
	case pgtype.Float8OID:
		return new(pgtype.Float8)
	case pgtype.BoolOID:
		return new(pgtype.Bool)
	case pgtype.JSONOID:
		return new(json.RawMessage)
	default:
		return new(pgtype.Text)
	}
}

// appendValue writes a value as JSON.
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
	}
	return append(b, "null"...)
}
