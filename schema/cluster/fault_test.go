package cluster

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// begin starts a cluster that the test stops itself, one way or another.
func begin(t *testing.T, config Config) *Cluster {
	t.Helper()
	if config.DataDir == "" {
		config.DataDir = filepath.Join(t.TempDir(), "postgres")
		t.Cleanup(func() {
			if err := Remove(config.DataDir); err != nil {
				t.Error(err)
			}
		})
	}
	c, err := Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// To let go of the lock is what being killed amounts to, where the kernel doesn't take the server along.
func TestStart_StopsAServerLeftBehind(t *testing.T) {
	first := begin(t, Config{})
	if err := first.home.close(); err != nil {
		t.Fatal(err)
	}
	second := begin(t, Config{DataDir: first.config.DataDir})
	<-first.Done()
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
}

func TestRemove_StopsAServerLeftBehind(t *testing.T) {
	c := begin(t, Config{})
	if err := c.home.close(); err != nil {
		t.Fatal(err)
	}
	if err := Remove(c.config.DataDir); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
}

// After a restart of the machine, the number in postmaster.pid is anybody's.
func TestStart_LeavesAStrangerAlone(t *testing.T) {
	first := begin(t, Config{})
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(first.home.data(), "postmaster.pid")
	if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getppid())+"\n"+first.home.data()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := begin(t, Config{DataDir: first.config.DataDir})
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
}

func TestStart_RefusesAnotherVersion(t *testing.T) {
	c := begin(t, Config{})
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.home.data(), versionFile), []byte("13\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Config{DataDir: c.config.DataDir})
	if err == nil || !strings.Contains(err.Error(), "--fresh") {
		t.Errorf("%v, want --fresh", err)
	}
}

func TestStart_QuotesTheLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "postgres")
	_, err := Start(t.Context(), Config{DataDir: dir, Settings: map[string]string{"shared_buffers": "plenty"}})
	if err == nil || !strings.Contains(err.Error(), `invalid value for parameter "shared_buffers"`) {
		t.Errorf("%v, want what postgres said", err)
	}
	if err := Remove(dir); err != nil {
		t.Error(err)
	}
}

func TestStart_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := filepath.Join(t.TempDir(), "postgres")
	_, err := Start(ctx, Config{DataDir: dir, Progress: func(step string) {
		if strings.HasPrefix(step, "creating") {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	// It would be in use if anything were still running.
	if err := Remove(dir); err != nil {
		t.Error(err)
	}
}

func TestRestart_OnAPortThatIsTaken(t *testing.T) {
	c := begin(t, Config{})
	c.Kill()
	taker, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(address, strconv.Itoa(c.Port())))
	if err != nil {
		t.Fatal(err)
	}
	err = c.Restart(t.Context())
	if !errors.Is(err, errPortTaken) {
		t.Fatalf("%v, want that the port is taken", err)
	}
	if text := err.Error(); strings.Contains(text, c.Password()) || strings.Contains(text, strconv.Itoa(c.Port())) {
		t.Errorf("%q shows the password or the port", text)
	}
	if err := taker.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}

func TestStop_TellsOfAServerThatHadEnded(t *testing.T) {
	c := begin(t, Config{})
	if err := c.server.Load().cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	err := c.Stop()
	if err == nil || !strings.Contains(err.Error(), "immediate shutdown") {
		t.Fatalf("%v, want what the log says", err)
	}
	if text := err.Error(); strings.Contains(text, c.Password()) || strings.Contains(text, strconv.Itoa(c.Port())) {
		t.Errorf("%q shows the password or the port", text)
	}
	if err := c.Stop(); err != nil {
		t.Errorf("stopped twice: %v", err)
	}
}

func TestStart_MistrustsAPreparedRefuge(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's clusters take refuge")
	}
	dir := filepath.Join(t.TempDir(), "postgres")
	place := refuge(dir)
	if err := os.Mkdir(place, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(place); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chown(place, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Config{DataDir: dir}); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("%v, want that it is another user's", err)
	}
}
