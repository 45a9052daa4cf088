package main_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

// fleet is the servers as operators run them, each a process under its own role, over one NATS and one PostgreSQL.
type fleet struct {
	*testing.T
	nats     *eventstest.Server
	database *schematest.Database
	pool     *pgxpool.Pool
	pepper   string
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{
		T: t, nats: eventstest.NewServer(t), database: schematest.New(t),
		pepper: base64.StdEncoding.EncodeToString([]byte(strings.Repeat("p", 32))),
	}
	f.pool = f.database.Pool(t)
	succeed(t, f.env("callboard_operator"), "", "stream", "create")
	return f
}

func (f *fleet) env(role string) map[string]string {
	return map[string]string{
		"CALLBOARD_NATS_URL": f.nats.URL(), "CALLBOARD_POSTGRES_URL": f.database.RoleURL(role), "CALLBOARD_KEY_PEPPER": f.pepper,
		"CALLBOARD_ADMIN_LISTEN": "127.0.0.1:0",
	}
}

func (f *fleet) projector() *daemon {
	f.Helper()
	return start(f, "projector", f.env("callboard_projector"))
}

// reader is a running reader.
type reader struct {
	*daemon
	base, admin string
}

func (f *fleet) reader() reader {
	f.Helper()
	env := f.env("callboard_reader")
	env["CALLBOARD_BASE_URL"] = "https://phones.example.com/v1"
	env["CALLBOARD_CURSOR_KEY"] = f.pepper
	env["CALLBOARD_AUDIO_URL"] = "file://" + f.TempDir()
	env["CALLBOARD_LISTEN"] = "127.0.0.1:0"
	d := start(f, "readapi", env)
	r := reader{daemon: d, base: "http://" + d.logged(`"public":"([^"]+)"`) + "/v1", admin: "http://" + d.logged(`"admin":"([^"]+)"`)}
	healthy(f.T, r.admin)
	return r
}

// metric is the value of a metric without labels.
func (r reader) metric(name string) int {
	r.Helper()
	_, body := get(r, r.admin+"/metrics", "")
	sample := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(string(body))
	if sample == nil {
		r.Fatalf("no metric %s", name)
	}
	value, err := strconv.ParseFloat(sample[1], 64)
	if err != nil {
		r.Fatal(err)
	}
	return int(value)
}

// key issues a key for a phone system that isn't there; its discovery is empty, and all else of it is 404.
func (f *fleet) key() string {
	f.Helper()
	out := succeed(f, f.env("callboard_operator"), "", "keys", "issue", "--name", "fleet", "--system", uuid.NewString(),
		"--scopes", "calls:read", "--json")
	var issued struct{ Key string }
	if err := json.Unmarshal([]byte(out), &issued); err != nil {
		f.Fatal(err)
	}
	return issued.Key
}

// asked asks for discovery and returns the status, 0 where there was no answer.
func asked(client *http.Client, base, key, requestID string) int {
	request, err := http.NewRequest(http.MethodGet, base+"/customer/phone-systems", nil) //nolint:noctx // the client has a timeout
	if err != nil {
		return 0
	}
	request.Header.Set("X-API-Key", key)
	request.Header.Set("X-Request-Id", requestID)
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// audited is how often the audit has each request id.
func (f *fleet) audited() map[string]int {
	f.Helper()
	rows, err := f.pool.Query(f.Context(), "select request_id from access.audit")
	if err != nil {
		f.Fatal(err)
	}
	defer rows.Close()
	times := map[string]int{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			f.Fatal(err)
		}
		times[id]++
	}
	if err := rows.Err(); err != nil {
		f.Fatal(err)
	}
	return times
}

// missing is an error that says which requests the audit does not have exactly once.
func (f *fleet) missing(ids []string) error {
	times := f.audited()
	var wrong []string
	for _, id := range ids {
		if times[id] != 1 {
			wrong = append(wrong, fmt.Sprintf("%s %d times", id, times[id]))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d of %d: %.200s", len(wrong), len(ids), strings.Join(wrong, ", "))
	}
	return nil
}
