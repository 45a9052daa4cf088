package cluster_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"callboard/schema/cluster"
)

// Under this the test binary runs a cluster in the folder that it names, until it is killed.
const childFolder = "CALLBOARD_TEST_CLUSTER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		os.Exit(runChild(dir))
	}
	goleak.VerifyTestMain(m)
}

func runChild(dir string) int {
	c, err := cluster.Start(context.Background(), cluster.Config{DataDir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(c.URL("postgres"))
	<-c.Done()
	return 0
}

func start(t *testing.T, dir string) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(t.Context(), cluster.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		if err := cluster.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	return c
}

func execute(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
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

func TestCluster_KeepsItsDataAndItsPassword(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "postgres")
	first := start(t, dir)
	execute(t, first.URL("postgres"), "create table kept ()")
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := start(t, dir)
	execute(t, second.URL("postgres"), "drop table kept")
	if first.Password() != second.Password() {
		t.Error("the password changed")
	}
}

func TestCluster_ComesBackAfterACrash(t *testing.T) {
	c := start(t, filepath.Join(t.TempDir(), "postgres"))
	execute(t, c.URL("postgres"), "create table kept ()")
	c.Kill()
	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	execute(t, c.URL("postgres"), "drop table kept")
}

// A folder that only its owner may enter, as mktemp makes them, is no obstacle, and neither is being root.
func TestCluster_InAPrivateFolder(t *testing.T) {
	parent := t.TempDir()
	if err := os.Chmod(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(parent, "postgres")
	c := start(t, dir)
	execute(t, c.URL("postgres"), "select 1")
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	home, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Remove(dir); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{dir, home} {
		if _, err := os.Lstat(left); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", left, err)
		}
	}
}

func TestCluster_OneProgramAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "postgres")
	start(t, dir)
	if _, err := cluster.Start(t.Context(), cluster.Config{DataDir: dir}); !errors.Is(err, cluster.ErrInUse) {
		t.Errorf("a second program: %v, want ErrInUse", err)
	}
	if err := cluster.Remove(dir); !errors.Is(err, cluster.ErrInUse) {
		t.Errorf("removal: %v, want ErrInUse", err)
	}
}

func TestCluster_EndsWithItsProgram(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "postgres")
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
	pid := postmaster(t, dir)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // "signal: killed" is what was asked for
	if runtime.GOOS == "linux" {
		// What is left of the process may stay until init waits for it; its command line doesn't.
		await(t, "the server's end", func() bool {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			return err != nil || len(line) == 0
		})
	}
	execute(t, start(t, dir).URL("postgres"), "select 1")
}

// postmaster is the pid of the server in a cluster's folder.
func postmaster(t *testing.T, dir string) int {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(file), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !condition(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within half a minute: %s", what)
		}
	}
}

func TestStart_SaysWhatIsWrong(t *testing.T) {
	occupied := t.TempDir()
	if err := os.WriteFile(filepath.Join(occupied, "letter.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		config cluster.Config
		want   string
	}{
		{"no programs there", cluster.Config{BinDir: t.TempDir(), DataDir: filepath.Join(t.TempDir(), "p")}, "postgres-bin"},
		{"a folder with other things", cluster.Config{DataDir: occupied}, occupied},
		{"no folder", cluster.Config{}, "no folder is named"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := cluster.Start(t.Context(), test.config)
			if err == nil {
				t.Error(c.Stop())
				t.Fatal("it starts")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%q doesn't say %q", err, test.want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(occupied, "letter.txt")); err != nil {
		t.Errorf("what was there is gone: %v", err)
	}
}
