package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// minMajor is the oldest PostgreSQL that has all that the schema uses.
const minMajor = 14

// programs is a folder with PostgreSQL's programs.
type programs struct {
	dir     string
	account account // that runs them
	major   int
}

// findPrograms returns the configured PostgreSQL, or the first usable installed one, or a downloaded one.
func findPrograms(ctx context.Context, config Config, a account) (programs, error) {
	dirs := installedDirs()
	if config.BinDir != "" {
		dirs = []string{config.BinDir}
	}

	var rejected error
	for _, dir := range dirs {
		pg, err := checkPrograms(ctx, dir, a)
		if err == nil {
			return pg, nil
		}
		rejected = errors.Join(rejected, err)
	}

	// A folder that the operator names has no substitute.
	if config.BinDir != "" {
		return programs{}, fmt.Errorf("postgres-bin: %w", rejected)
	}

	cache, err := os.UserCacheDir()
	if a.switched {
		cache, err = "/var/cache", nil // the server's user cannot enter root's own
	}

	dir := filepath.Join(cache, "callboard", "postgresql-"+string(embeddedpostgres.V17))
	if err == nil {
		err = fetch(ctx, "https://repo1.maven.org/maven2", dir, config.Progress)
	}
	if err == nil {
		return checkPrograms(ctx, filepath.Join(dir, "bin"), a)
	}

	return programs{}, fmt.Errorf("no PostgreSQL %d or newer on this machine: install it with\n\n    %s\n\n"+
		"or name the folder of its programs with --postgres-bin; not usable:\n%w",
		minMajor, installCommand(runtime.GOOS, exec.LookPath), errors.Join(rejected, fmt.Errorf("download: %w", err)))
}

// installedDirs lists the folders that may hold PostgreSQL's programs: that on PATH first, then newer versions first.
func installedDirs() []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// The program may be a link to the folder that holds initdb too.
		if path, err = filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(path))
		}
	}

	// Packages install PostgreSQL in these folders.
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		found, _ := filepath.Glob(pattern) // it fails for malformed patterns only
		slices.Reverse(found)              // versions that are not too old have two digits
		dirs = append(dirs, found...)
	}

	return dirs
}

// checkPrograms returns the PostgreSQL in the folder, or why it is not usable.
func checkPrograms(ctx context.Context, dir string, a account) (programs, error) {
	pg := programs{dir: dir, account: a}
	version, err := pg.command(ctx, "postgres", "--version").Output()
	if err == nil {
		_, err = fmt.Sscanf(string(version), "postgres (PostgreSQL) %d", &pg.major)
	}
	if err != nil {
		return programs{}, fmt.Errorf("%s: %s cannot run postgres --version: %w", dir, a.name, err)
	}
	if pg.major < minMajor {
		return programs{}, fmt.Errorf("%s: PostgreSQL %d is too old, %d or newer is required", dir, pg.major, minMajor)
	}
	return pg, nil
}

// command is one of the programs, which is interrupted when ctx ends. Of this process's environment, which may hold
// secrets and PG* variables that change what the programs do, it sees little.
func (pg programs) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(pg.dir, program), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Dir = "/" // the account may be unable to enter the working directory
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH"), "LD_LIBRARY_PATH=" + os.Getenv("LD_LIBRARY_PATH")}
	pg.account.runAs(cmd)
	return cmd
}

// run runs one of the programs of which only an error's output is of interest.
func (pg programs) run(ctx context.Context, program string, args ...string) error {
	if output, err := pg.command(ctx, program, args...).CombinedOutput(); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("%s: %w\n%s", program, err, lastLines(output)))
	}
	return nil
}

// fetch downloads PostgreSQL into the folder unless it is there. Other processes may do the same at the same time.
//
// The library downloads and unpacks PostgreSQL and then runs it, which callboard does itself: an unknown encoding ends
// the library before. It creates its runtime folder once all programs are unpacked.
func fetch(ctx context.Context, repository, dir string, progress func(string)) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}

	progress("downloading PostgreSQL " + string(embeddedpostgres.V17))
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}

	work, err := os.MkdirTemp(filepath.Dir(dir), "download-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	unpacked, complete := filepath.Join(work, "programs"), filepath.Join(work, "runtime")
	library := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(embeddedpostgres.V17).BinaryRepositoryURL(repository).Port(0).Encoding("none").Logger(io.Discard).
		CachePath(work).BinariesPath(unpacked).RuntimePath(complete))

	// The channel has room for the result, so the goroutine ends even after an interruption.
	ended := make(chan error, 1)
	go func() { ended <- library.Start() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		return ctx.Err() // the library cannot be interrupted
	}

	// The library always ends with an error. The runtime folder shows that it has unpacked all programs.
	if _, missing := os.Stat(complete); missing != nil {
		return err
	}

	_ = os.Rename(unpacked, dir) // it fails where another process has been faster
	return nil
}

// installCommand is the one command that installs PostgreSQL.
func installCommand(system string, lookPath func(string) (string, error)) string {
	if system == "darwin" {
		return "brew install postgresql@17"
	}

	for manager, command := range map[string]string{
		"dnf":    "dnf install postgresql-server",
		"apk":    "apk add postgresql",
		"pacman": "pacman -S postgresql",
		"zypper": "zypper install postgresql-server",
	} {
		if _, err := lookPath(manager); err == nil {
			return command
		}
	}

	return "apt-get install postgresql"
}
