package wallclock

import (
	"context"
	"crypto/sha256"
	_ "embed" // the server's source
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

//go:embed nats_server.go
var serverSource string

// nowSource is how time.Now begins, and movedNowSource what takes its place.
const (
	nowSource      = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	movedNowSource = nowSource + "\tsec, nsec = moveWallClock(sec, nsec)\n"
)

// clockSource is a file that is added to package time.
const clockSource = `package time

import "sync/atomic"

var wallClockAhead atomic.Int64

// SetWallClock sets by how much the wall clock is ahead of the machine's.
func SetWallClock(ahead Duration) { wallClockAhead.Store(int64(ahead)) }

func moveWallClock(sec int64, nsec int32) (int64, int32) {
	moved := int64(nsec) + wallClockAhead.Load()
	sec, moved = sec+moved/1e9, moved%1e9
	if moved < 0 {
		sec, moved = sec-1, moved+1e9
	}
	return sec, int32(moved)
}
`

// errNoClock says that the toolchain's package time is another one than this package can change.
var errNoClock = errors.New("time.Now does not begin as expected, so its wall clock cannot be moved")

// moveClock returns the source of package time's time.go with a wall clock that can be moved.
func moveClock(source string) (string, error) {
	if strings.Count(source, nowSource) != 1 {
		return "", errNoClock
	}
	return strings.Replace(source, nowSource, movedNowSource, 1), nil
}

// program returns the path of the server. It is built once and then kept in the user's cache: the standard library is compiled again for it,
// which takes a minute of one processor.
func program(tb testing.TB) string {
	tb.Helper()
	path, err := buildOnce(tb.Context(), tb.TempDir())
	if errors.Is(err, errNoClock) {
		tb.Skipf("%s: %v", runtime.Version(), err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// buildOnce builds the server unless the user's cache has it. Processes wait for each other. The folder is for intermediate files.
func buildOnce(ctx context.Context, folder string) (path string, err error) {
	replaced, err := replacedSources(ctx)
	if err != nil {
		return "", err
	}
	path, err = cachePath(replaced)
	if err != nil {
		return "", err
	}
	unlock, err := lock(path + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	return path, build(ctx, folder, path, replaced)
}

// replacedSources returns the files of the standard library that are replaced or added, and their sources.
func replacedSources(ctx context.Context) (map[string]string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	folder := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	original, err := os.ReadFile(filepath.Join(folder, "time.go")) //nolint:gosec // the toolchain's
	if err != nil {
		return nil, err
	}
	moved, err := moveClock(string(original))
	if err != nil {
		return nil, err
	}
	return map[string]string{filepath.Join(folder, "time.go"): moved, filepath.Join(folder, "wall_clock.go"): clockSource}, nil
}

// cachePath returns the path of the server in the user's cache. Another toolchain, another version of NATS and other sources have another path.
func cachePath(replaced map[string]string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sources, err := json.Marshal([]any{runtime.Version(), server.VERSION, serverSource, replaced})
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "callboard")
	sum := sha256.Sum256(sources)
	return filepath.Join(folder, "nats-server-"+hex.EncodeToString(sum[:8])), os.MkdirAll(folder, 0o700)
}

// lock takes a lock that other processes respect, by a file.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // in the user's cache
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil // it unlocks
}

// build builds the server, of the version of NATS in go.mod, with other sources of some files. An interrupted build leaves nothing at path.
func build(ctx context.Context, folder, path string, replaced map[string]string) error {
	main := filepath.Join(folder, "main.go")
	if err := os.WriteFile(main, []byte(serverSource), 0o600); err != nil {
		return err
	}
	overlay, err := writeOverlay(folder, replaced)
	if err != nil {
		return err
	}
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-overlay", overlay, "-o", path + ".new", main}
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // this package's own source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build NATS server: %w\n%s", err, out)
	}
	return os.Rename(path+".new", path)
}

// writeOverlay writes the file that tells the compiler which sources take the place of which files.
func writeOverlay(folder string, replaced map[string]string) (path string, err error) {
	replace := make(map[string]string)
	for file, source := range replaced {
		replace[file] = filepath.Join(folder, filepath.Base(file))
		if err := os.WriteFile(replace[file], []byte(source), 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, "overlay.json")
	return path, os.WriteFile(path, overlay, 0o600)
}
