package command_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/deploy/test/programtest"
	"callboard/events/eventstest"
	"callboard/schema/cluster"
	"callboard/schema/schematest"
)

// programs are the binaries under test.
//
//nolint:gochecknoglobals // what is built is the same for all tests
var programs = programtest.New(
	"callboard/cmd/callboard", "callboard/cmd/projector", "callboard/cmd/readapi", "callboard/cmd/webhooks",
)

func TestMain(m *testing.M) {
	eventstest.RunAtOnce(6)
	code := m.Run()
	if err := errors.Join(schematest.Stop(), programs.Remove()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// result is a command's output and exit code.
type result struct {
	out, err string
	code     int
}

// command runs a callboard command. Its environment has no settings but env.
func command(tb testing.TB, env map[string]string, input string, args ...string) result {
	tb.Helper()
	return run(tb.Context(), tb, "callboard", env, input, args...)
}

// run runs one of the programs to its end. The end of ctx interrupts it.
func run(ctx context.Context, tb testing.TB, name string, env map[string]string, input string, args ...string) result {
	tb.Helper()
	out, errs, code := programtest.Run(ctx, tb, programs.Path(tb, name), env, input, args...)
	return result{out, errs, code}
}

// program runs one of the programs to its end. Its environment has no settings but env.
func program(tb testing.TB, name string, env map[string]string, args ...string) result {
	tb.Helper()
	return run(tb.Context(), tb, name, env, "", args...)
}

// succeed runs a command and returns its output. The test ends if the command fails.
func succeed(tb testing.TB, env map[string]string, input string, args ...string) string {
	tb.Helper()
	r := command(tb, env, input, args...)
	if r.code != 0 {
		tb.Fatalf("%v: exit code = %d, want 0: %s", args, r.code, r.err)
	}
	return r.out
}

// shows reports whether a command succeeds with a text in its output. It is for what is waited for: on a busy
// machine, a command can fail.
func shows(tb testing.TB, env map[string]string, text string, args ...string) bool {
	tb.Helper()
	r := command(tb, env, "", args...)
	return r.code == 0 && strings.Contains(r.out, text)
}

// succeedJSON runs a command with --json and decodes its output.
func succeedJSON[T any](tb testing.TB, env map[string]string, args ...string) (v T) {
	tb.Helper()
	out := succeed(tb, env, "", append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		tb.Fatalf("%v: %v: %s", args, err, out)
	}
	return v
}

// expect runs a command and checks its exit code and, as a pattern, its output. An output is standard output, or
// standard error where that is empty.
func expect(tb testing.TB, env map[string]string, code int, pattern string, args ...string) {
	tb.Helper()
	r := command(tb, env, "", args...)
	output := r.out
	if output == "" {
		output = r.err
	}
	if r.code != code || !regexp.MustCompile(pattern).MatchString(output) {
		tb.Errorf("%v: exit code = %d, want %d; output =\n%s%s\nwant %s", args, r.code, code, r.out, r.err, pattern)
	}
	if testing.Verbose() {
		tb.Logf("$ callboard %s\n%s%s", strings.Join(args, " "), r.out, r.err)
	}
}

type daemon = programtest.Process

// start starts one of the binaries.
func start(tb testing.TB, name string, env map[string]string, args ...string) *daemon {
	tb.Helper()
	p := programtest.NewProcess(tb, name, programs.Path(tb, name), env)
	p.Start(args...)
	return p
}

// devReady is the content of dev's ready file.
type devReady struct {
	BaseURL, NATSURL, PostgresURL                        string
	ReadAPIAdminURL, ProjectorAdminURL, WebhooksAdminURL string
	APIKey                                               *string
	Env                                                  map[string]string
}

// devProcess is a running 'callboard dev'.
type devProcess struct {
	*programtest.Process
	devReady
	dir string
}

// startDev starts dev on free ports with its data in dir, and returns when it is ready.
func startDev(tb testing.TB, dir string, args ...string) *devProcess {
	tb.Helper()
	readyFile := filepath.Join(tb.TempDir(), "ready.json")
	args = append([]string{"dev", "--data", dir, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--ready-file", readyFile}, args...)
	tb.Cleanup(func() {
		// Under root the cluster can be in another directory.
		if err := cluster.Remove(filepath.Join(dir, "postgres")); err != nil {
			tb.Errorf("remove cluster: %v", err)
		}
	})
	i := &devProcess{Process: start(tb, "callboard", nil, args...), dir: dir}
	eventstest.Eventually(tb, "dev writes its ready file", func() bool {
		i.RequireRunning()
		text, err := os.ReadFile(readyFile)
		return err == nil && json.Unmarshal(text, &i.devReady) == nil
	})
	return i
}

// fleet is NATS, a database, and the servers as processes with their own database roles.
type fleet struct {
	*testing.T
	nats     *eventstest.Server
	database *schematest.Database
	pool     *pgxpool.Pool
	pepper   string
}

// newFleet creates the streams and starts no server. The test runs in parallel with others.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	t.Parallel()
	f := &fleet{
		T: t, nats: eventstest.NewServer(t), database: schematest.New(t),
		pepper: testPepper(),
	}
	f.pool = f.database.Pool(t)
	succeed(t, f.operator(), "", "stream", "create")
	return f
}

func testPepper() string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("p", 32))) }

func testWebhookKey() string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("w", 32)))
}

// in returns the fleet for a subtest.
func (f *fleet) in(t *testing.T) *fleet {
	t.Helper()
	own := *f
	own.T = t
	return &own
}

func (f *fleet) env(postgresURL string) map[string]string {
	return map[string]string{
		"CALLBOARD_NATS_URL": f.nats.URL(), "CALLBOARD_POSTGRES_URL": postgresURL, "CALLBOARD_KEY_PEPPER": f.pepper,
		"CALLBOARD_WEBHOOK_KEY": testWebhookKey(), "CALLBOARD_ADMIN_LISTEN": "127.0.0.1:0",
	}
}

// operator returns the environment of commands that run as the operator's role.
func (f *fleet) operator() map[string]string { return f.env(f.database.RoleURL("callboard_operator")) }

// owner returns the environment of commands that run as the schemas' owner.
func (f *fleet) owner() map[string]string { return f.env(f.database.URL()) }

func (f *fleet) startProjector() *daemon {
	f.Helper()
	return start(f, "projector", f.env(f.database.RoleURL("callboard_projector")))
}

// reader is a running readapi.
type reader struct {
	*programtest.Process
	base, admin string // URLs
}

// startReader starts a reader with further settings.
func (f *fleet) startReader(settings ...map[string]string) reader {
	f.Helper()
	return f.startReaderWith(f.env(f.database.RoleURL("callboard_reader")), settings...)
}

// startReaderWith starts a reader with the settings of an environment and further ones.
func (f *fleet) startReaderWith(env map[string]string, settings ...map[string]string) reader {
	f.Helper()
	env["CALLBOARD_BASE_URL"] = "https://phones.example.com/v1"
	env["CALLBOARD_CURSOR_KEY"] = f.pepper
	env["CALLBOARD_AUDIO_URL"] = "file://" + f.TempDir()
	env["CALLBOARD_LISTEN"] = "127.0.0.1:0"
	for _, s := range settings {
		maps.Copy(env, s)
	}
	d := start(f, "readapi", env)
	r := reader{Process: d, base: "http://" + d.Await(`"public":"([^"]+)"`)[1] + "/v1", admin: "http://" + d.Await(`"admin":"([^"]+)"`)[1]}
	waitUntilReady(f, r.admin)
	return r
}

// waitUntilCaughtUp waits until every event is applied.
func (f *fleet) waitUntilCaughtUp() {
	f.Helper()
	waitUntilCaughtUp(f, f.operator())
}

func waitUntilCaughtUp(tb testing.TB, env map[string]string) {
	tb.Helper()
	// Of partitions that have stopped, 'status' says "at least".
	eventstest.Eventually(tb, "every event is applied", func() bool { return shows(tb, env, " events, 0 not applied", "status") })
}

// exec executes statements as the superuser.
func (f *fleet) exec(sql string) {
	f.Helper()
	schematest.Exec(f, f.pool, sql)
}

// queryText returns the only column of a query's only row.
func (f *fleet) queryText(query string) string {
	f.Helper()
	return schematest.QueryOne[string](f, f.pool, query)
}

type keyWithID struct{ ID, Key string }

// issueKey issues a key of a phone system.
func issueKey(tb testing.TB, env map[string]string, system string, args ...string) keyWithID {
	tb.Helper()
	k := succeedJSON[keyWithID](tb, env, append([]string{"keys", "issue", "--system", system}, args...)...)
	if k.ID == "" || !strings.HasPrefix(k.Key, "sk_phones_") {
		tb.Fatalf("issued key = %+v, want an id and a secret", k)
	}
	return k
}

// waitUntilReady waits until the program with an admin listener can serve.
func waitUntilReady(tb testing.TB, admin string) {
	tb.Helper()
	eventstest.Eventually(tb, admin+" is ready", func() bool {
		return command(tb, nil, "", "healthcheck", admin+"/readyz").code == 0
	})
}

// get requests a URL with a key, and with further headers: names and values in turn.
func get(tb testing.TB, url, key string, headers ...string) (status int, body []byte) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, url, nil)
	if err != nil {
		tb.Fatal(err)
	}
	request.Header.Set("X-API-Key", key)
	for pair := range slices.Chunk(headers, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, err = io.ReadAll(response.Body); err != nil {
		tb.Fatal(err)
	}
	return response.StatusCode, body
}

func expectStatus(tb testing.TB, url, key string, want int) {
	tb.Helper()
	if status, body := get(tb, url, key); status != want {
		tb.Errorf("%s: status = %d, want %d: %s", url, status, want, body)
	}
}
