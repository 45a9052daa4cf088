package run_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"callboard/internal/run"
)

// versionProgram is a program with the command, as in its main package.
type versionProgram struct {
	Version run.VersionCommand `cmd:""`
}

func printVersion(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs strings.Builder
	code := run.Run(t.Context(), &versionProgram{}, args, func(string) string { return "" }, run.Streams{Out: &out, Err: &errs},
		kong.Name("reader"))
	if code != 0 || errs.Len() > 0 {
		t.Fatalf("%v: exit code = %d, errors = %q, want 0 and none", args, code, &errs)
	}
	return out.String()
}

func TestVersionCommand(t *testing.T) {
	if got := printVersion(t, "version"); !strings.HasPrefix(got, "reader ") || !strings.HasSuffix(got, ", "+runtime.Version()+"\n") {
		t.Errorf("output = %q, want the program's name and %s", got, runtime.Version())
	}
	var build run.Build
	if out := printVersion(t, "version", "--json"); json.Unmarshal([]byte(out), &build) != nil || build != run.ReadBuild() {
		t.Errorf("output = %s, want %+v", out, run.ReadBuild())
	}
}

func TestBuild_String(t *testing.T) {
	for want, build := range map[string]run.Build{
		"(devel), go1.26.8":                                      {Version: "(devel)", Go: "go1.26.8"},
		"v1.2.0 abc of 2026-11-01T10:00:00Z, go1.26.8":           {Version: "v1.2.0", Revision: "abc", Time: "2026-11-01T10:00:00Z", Go: "go1.26.8"},
		"v1.2.1 abc of 2026-11-01T10:00:00Z, modified, go1.26.8": {Version: "v1.2.1", Revision: "abc", Time: "2026-11-01T10:00:00Z", Modified: true, Go: "go1.26.8"},
	} {
		if got := build.String(); got != want {
			t.Errorf("build = %q, want %q", got, want)
		}
	}
}

// healthcheckProgram is a program with the command, as in its main package.
type healthcheckProgram struct {
	Healthcheck run.HealthcheckCommand `cmd:""`
}

// check runs the command with an admin address.
func check(t *testing.T, address string) (code int, out, errs string) {
	t.Helper()
	getenv := func(name string) string { return map[string]string{"CALLBOARD_ADMIN_LISTEN": address}[name] }
	var stdout, stderr strings.Builder
	code = run.Run(t.Context(), &healthcheckProgram{}, []string{"healthcheck"}, getenv, run.Streams{Out: &stdout, Err: &stderr},
		kong.Vars{"admin_listen": "127.0.0.1:1"})
	return code, stdout.String(), stderr.String()
}

// answerReadyz answers /readyz with a status and returns the port of a listener on all interfaces.
func answerReadyz(t *testing.T, status int) (port string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte("NATS is not connected\n"))
	})
	server := httptest.NewUnstartedServer(mux)
	_ = server.Listener.Close()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	_, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestHealthcheckCommand_AsksTheAdminAddress(t *testing.T) {
	port := answerReadyz(t, http.StatusOK)
	for _, host := range []string{"", "127.0.0.1", "0.0.0.0", "[::]", "localhost"} {
		if code, out, errs := check(t, host+":"+port); code != 0 || out != "200 OK\n" || errs != "" {
			t.Errorf("%s:port: exit code = %d, output = %q, errors = %q, want 0, 200 OK", host, code, out, errs)
		}
	}
}

func TestHealthcheckCommand_FailsWithTheReason(t *testing.T) {
	unready := answerReadyz(t, http.StatusServiceUnavailable)
	for address, want := range map[string]string{
		":" + unready: "503 Service Unavailable: NATS is not connected",
		"":            "127.0.0.1:1: connect: connection refused",
	} {
		if code, out, errs := check(t, address); code != 1 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code = %d, output = %q, errors = %q, want 1 and %q", address, code, out, errs, want)
		}
	}
}
