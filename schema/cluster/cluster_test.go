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
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"callboard/events/eventstest"
	"callboard/events/eventstest/leaks"
)

const (
	// If it is set, the test binary runs a cluster in the folder that it names, until it is killed.
	childFolder = "CALLBOARD_TEST_CLUSTER"
	// The cache that the tests' clusters share.
	cacheFolder = "CALLBOARD_TEST_INITDB_CACHE"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		os.Exit(runChild(dir))
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	cache, err := os.MkdirTemp("", "callboard-test-initdb-")
	if err == nil {
		err = os.Setenv(cacheFolder, cache)
	}
	code := 1
	if err == nil {
		code = m.Run()
		err = errors.Join(os.RemoveAll(cache), leaks.Find())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func runChild(dir string) int {
	c, err := Start(context.Background(), Config{DataDir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(c.URL("postgres"))
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
	c, err := Start(t.Context(), Config{DataDir: dir, InitdbCache: os.Getenv(cacheFolder)})
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
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Error(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// mustContain checks what an error says.
func mustContain(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want one that contains %q", err, want)
	}
}

// mustHideSecrets checks that an error shows neither the password nor the port.
func mustHideSecrets(t *testing.T, err error, c *Cluster) {
	t.Helper()
	port := regexp.MustCompile(fmt.Sprintf(`(port |:|PGSQL\.)%d\b`, c.Port())) // the number alone can be a process's
	if text := err.Error(); strings.Contains(text, c.password) || port.MatchString(text) {
		t.Errorf("error = %q, want one without the password and the port", text)
	}
}

func TestStart_KeepsDataAndPassword(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	first, err := Start(t.Context(), Config{DataDir: dir}) // without a cache
	if err != nil {
		t.Fatal(err)
	}
	execute(t, first, "create table survivor ()")
	stop(t, first)
	second := start(t, dir)
	execute(t, second, "drop table survivor")
	if first.password != second.password {
		t.Error("the second start has another password")
	}
	stop(t, second)
}

func TestRestart_AfterCrash(t *testing.T) {
	t.Parallel()
	c := start(t, newFolder(t))
	execute(t, c, "create table survivor ()")
	c.Kill()
	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	execute(t, c, "drop table survivor")
	stop(t, c)
}

func TestRestart_PortInUse(t *testing.T) {
	t.Parallel()
	c := start(t, newFolder(t))
	c.Kill()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(address, strconv.Itoa(c.Port())))
	if err != nil {
		t.Fatal(err)
	}
	err = c.Restart(t.Context())
	if !errors.Is(err, errPortInUse) {
		t.Fatalf("error = %v, want %v", err, errPortInUse)
	}
	mustHideSecrets(t, err, c)
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
	if err := c.server.Load().cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	err := c.Stop()
	mustContain(t, err, "immediate shutdown")
	mustHideSecrets(t, err, c)
	stop(t, c) // a second call does nothing
}

// A folder that only its owner can search, as mktemp creates them, works for every user, root included. Only the server's user
// can read the data.
func TestStart_InPrivateFolder(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	if err := os.Chmod(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	c := start(t, dir)
	execute(t, c, "select 1")
	for path, want := range map[string]fs.FileMode{c.dir.data(): 0o700, c.dir.passwordFile(): 0o600, c.dir.log(): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %s = %o, want %o", path, got, want)
		}
	}
	stop(t, c)
	if err := Remove(dir); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, c.dir.path} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after Remove, %s exists: %v", path, err)
		}
	}
}

func TestStart_RejectsFallbackFolderOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root's clusters have a fallback folder")
	}
	dir := filepath.Join(t.TempDir(), "postgres")
	fallback := fallbackDir(dir)
	if err := os.Mkdir(fallback, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(fallback); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chown(fallback, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Config{DataDir: dir})
	mustContain(t, err, "another user")
}

func TestStart_OneProcessAtATime(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	c := start(t, dir)
	if _, err := Start(t.Context(), Config{DataDir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("second start: error = %v, want %v", err, ErrInUse)
	}
	if err := Remove(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("removal: error = %v, want %v", err, ErrInUse)
	}
	stop(t, c)
}

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
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	path, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(path, dataName)
	pid, err := readPID(filepath.Join(data, "postmaster.pid"))
	if err != nil || !servesData(t.Context(), pid, data) {
		t.Fatalf("process %d does not serve %s: %v", pid, data, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // its error is the kill
	if runtime.GOOS == "linux" {
		eventstest.Eventually(t, "the server has ended", func() bool { return !servesData(t.Context(), pid, data) })
	}
	c := start(t, dir)
	execute(t, c, "select 1")
	stop(t, c)
}

// An unlocked folder with a running server is what a killed process leaves where the kernel does not end the server.
func TestStart_StopsServerOfKilledParent(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	first := start(t, dir)
	if err := first.dir.close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, dir)
	<-first.Done()
	stop(t, second)
}

func TestRemove_StopsServerOfKilledParent(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	c := start(t, dir)
	if err := c.dir.close(); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
}

// After a restart of the machine, the pid in postmaster.pid can belong to any process.
func TestStart_SparesForeignProcess(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	first := start(t, dir)
	stop(t, first)
	pidFile := filepath.Join(first.dir.data(), "postmaster.pid")
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(os.Getppid())+"\n"+first.dir.data()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop(t, start(t, dir))
}

func TestStart_RejectsAnotherMajorVersion(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	user, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	d, err := openDirectory(dir, user)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.Mkdir(d.data(), 0o700), os.WriteFile(filepath.Join(d.data(), versionFile), []byte("13\n"), 0o600), d.close())
	if err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), Config{DataDir: dir})
	mustContain(t, err, "--fresh")
}

func TestStart_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Start(ctx, Config{DataDir: newFolder(t), Progress: func(step string) {
		if strings.HasPrefix(step, "creating") {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
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
		{"no folder", Config{}, "no folder is named"},
		{"bad setting", Config{
			DataDir: newFolder(t), InitdbCache: os.Getenv(cacheFolder), Settings: map[string]string{"shared_buffers": "plenty"},
		}, `invalid value for parameter "shared_buffers"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Start(t.Context(), test.config)
			mustContain(t, err, test.want)
		})
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a file that was there before: %v", err)
	}
}

func TestInitdbCache(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	// A process that was killed while it filled the cache.
	if err := os.MkdirAll(filepath.Join(cache, "incomplete", stagingName, versionFile), 0o700); err != nil {
		t.Fatal(err)
	}
	var clusters []*Cluster
	for range 2 {
		c, err := Start(t.Context(), Config{DataDir: newFolder(t), InitdbCache: cache})
		if err != nil {
			t.Fatal(err)
		}
		defer stop(t, c)
		execute(t, c, "create table mine ()")
		clusters = append(clusters, c)
	}
	if entries, err := os.ReadDir(cache); err != nil || len(entries) != 1 {
		t.Errorf("entries of the cache = %v, %v, want 1", entries, err)
	}
	// Both have the same password, but do not take each other's server for their own.
	confused := &Cluster{dir: clusters[0].dir, password: clusters[0].password, port: clusters[1].port}
	eventstest.Eventually(t, "the server of another cluster is not taken for its own", func() bool {
		err := confused.ping(t.Context()) // a busy machine may answer too late
		return err != nil && strings.Contains(err.Error(), "another cluster")
	})
}
