package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"callboard/events/eventstest"
)

const password = "correct horse"

// childFolder is set where the test binary is to run a cluster in the folder that it names, until it is killed.
const childFolder = "CALLBOARD_TEST_CLUSTER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		os.Exit(runChild(dir))
	}
	code := m.Run()
	if err := eventstest.FindLeaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runChild(dir string) int {
	c, err := Start(context.Background(), Config{DataDir: dir, Password: password})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(c.Port())
	<-c.Done()
	return 0
}

// newFolder names a cluster's folder. After the test, the cluster must have been stopped and can be removed.
func newFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "postgres")
	t.Cleanup(func() {
		if err := Remove(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// start starts a cluster. The test stops it.
func start(t *testing.T, dir string) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), Config{DataDir: dir, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func stop(t *testing.T, c *Cluster) {
	t.Helper()
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}

func execute(t *testing.T, c *Cluster, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), statement)
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Error(err)
	}
}

// mustContain checks what an error says, and that it hides the password.
func mustContain(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), password) {
		t.Errorf("error = %v, want one that contains %q and not the password", err, want)
	}
}

func TestRestart_KeepsDataAndURL(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	first := start(t, dir)
	execute(t, first, "create table survivor ()")
	first.Kill()
	if err := first.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	execute(t, first, "alter table survivor rename to second")
	stop(t, first)
	second := start(t, dir)
	execute(t, second, "drop table second")
	stop(t, second)
	stop(t, second) // does nothing
}

func TestRestart_PortInUse(t *testing.T) {
	t.Parallel()
	c := start(t, newFolder(t))
	c.Kill()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(address, strconv.Itoa(c.Port())))
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, c.Restart(t.Context()), "could not bind")
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	stop(t, c)
}

func TestStop_ReportsCrash(t *testing.T) {
	t.Parallel()
	c := start(t, newFolder(t))
	if err := c.server.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	mustContain(t, c.Stop(), "postgres ended: signal: killed")
}

// A folder that only its owner can search, as mktemp creates them, works for every user, root included. Only the
// server's user can read the data.
func TestStart_InPrivateFolder(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	if err := os.Chmod(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	c := start(t, dir)
	for path, want := range map[string]fs.FileMode{c.folder.data(): 0o700, c.Log(): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %s = %o, want %o", path, got, want)
		}
	}
	stop(t, c)
	// What cleans temporary folders may leave the link to one.
	if err := os.RemoveAll(c.folder.path); err != nil {
		t.Fatal(err)
	}
	c = start(t, dir)
	stop(t, c)
	if err := Remove(dir); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, c.folder.path} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after Remove, %s exists: %v", path, err)
		}
	}
}

func TestStart_OneProcessAtATime(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	c := start(t, dir)
	if _, err := Start(t.Context(), Config{DataDir: dir, Password: password}); !errors.Is(err, ErrInUse) {
		t.Errorf("second start: error = %v, want %v", err, ErrInUse)
	}
	if err := Remove(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("removal: error = %v, want %v", err, ErrInUse)
	}
	stop(t, c)
}

// The kernel ends the server of a killed process on Linux, and the next start does where it still runs.
func TestServer_EndsWithKilledParent(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childFolder+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // its error is the kill
	if runtime.GOOS == "linux" {
		eventstest.Eventually(t, "the server has ended", func() bool {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort(address, strings.TrimSpace(port)))
			if err != nil {
				return true
			}
			return conn.Close() != nil
		})
	}
	stop(t, start(t, dir))
}

// An unlocked folder with a running server is what a killed process leaves where the kernel does not end the server.
func TestServerOfKilledParent(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	first := start(t, dir)
	if err := first.folder.unlock(); err != nil {
		t.Fatal(err)
	}
	second := start(t, dir)
	<-first.Done()
	if err := second.folder.unlock(); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir); err != nil {
		t.Fatal(err)
	}
	<-second.Done()
}

// After a restart of the machine, the pid in postmaster.pid can belong to any process.
func TestStart_SparesForeignProcess(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	first := start(t, dir)
	stop(t, first)
	if err := os.WriteFile(first.folder.pidFile(), []byte(strconv.Itoa(os.Getppid())+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop(t, start(t, dir))
}

func TestStart_RejectsAnotherMajorVersion(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	data := filepath.Join(dir, "data")
	err := errors.Join(os.MkdirAll(data, 0o700), os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("13\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), Config{DataDir: dir})
	mustContain(t, err, "--fresh")
}

// A start that ended early can be repeated.
func TestStart_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Start(ctx, Config{DataDir: dir, Password: password, Progress: func(step string) {
		if strings.HasPrefix(step, "creating") {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	stop(t, start(t, dir))
}

func TestStart_Errors(t *testing.T) {
	t.Parallel()
	occupied := t.TempDir()
	other := filepath.Join(occupied, "notes.txt")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		config Config
		want   string
	}{
		{"no programs", Config{BinDir: t.TempDir(), DataDir: newFolder(t)}, "postgres-bin"},
		{"folder with other files", Config{DataDir: occupied}, occupied},
		{"bad setting", Config{
			DataDir: newFolder(t), Password: password, Settings: map[string]string{"shared_buffers": "plenty"},
		}, `invalid value for parameter "shared_buffers"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Start(t.Context(), test.config)
			mustContain(t, err, test.want)
		})
	}
	if err := Remove(occupied); err == nil {
		t.Error("removal of a folder with other files: error = nil")
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a file that was there before: %v", err)
	}
}
