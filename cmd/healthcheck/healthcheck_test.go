package healthcheck_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"callboard/cmd/healthcheck"
	"callboard/cmd/process"
	"callboard/events/eventstest/leaks"
)

func TestMain(m *testing.M) { leaks.Run(m) }

// program is a program with the command, as in its main package.
type program struct {
	Healthcheck healthcheck.Command `cmd:""`
}

// check runs the command with an admin address.
func check(t *testing.T, address string) (code int, out, errs string) {
	t.Helper()
	getenv := func(name string) string { return map[string]string{"CALLBOARD_ADMIN_LISTEN": address}[name] }
	var stdout, stderr strings.Builder
	code = process.Run(t.Context(), &program{}, []string{"healthcheck"}, getenv, process.Streams{Out: &stdout, Err: &stderr},
		kong.Vars{"admin_listen": "127.0.0.1:1"})
	return code, stdout.String(), stderr.String()
}

// serve answers /readyz with a status and returns the port of a listener on all interfaces.
func serve(t *testing.T, status int) (port string) {
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

func TestCommand_AsksTheAdminAddress(t *testing.T) {
	port := serve(t, http.StatusOK)
	for _, host := range []string{"", "127.0.0.1", "0.0.0.0", "[::]", "localhost"} {
		if code, out, errs := check(t, host+":"+port); code != 0 || out != "200 OK\n" || errs != "" {
			t.Errorf("%s:port: exit code = %d, output = %q, errors = %q, want 0, 200 OK", host, code, out, errs)
		}
	}
}

func TestCommand_FailsWithTheReason(t *testing.T) {
	unready := serve(t, http.StatusServiceUnavailable)
	for address, want := range map[string]string{
		":" + unready: "503 Service Unavailable: NATS is not connected",
		"":            "127.0.0.1:1: connect: connection refused",
	} {
		if code, out, errs := check(t, address); code != 1 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code = %d, output = %q, errors = %q, want 1 and %q", address, code, out, errs, want)
		}
	}
}
