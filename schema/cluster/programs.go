package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// minMajor is the oldest PostgreSQL that has all that the schema uses.
const minMajor = 14

// programs is a folder with PostgreSQL's programs.
type programs struct {
	dir     string
	version string // as postgres --version prints it
	major   int
}

// findPrograms returns the configured PostgreSQL, or the first usable installed one, or a downloaded one.
func findPrograms(ctx context.Context, config Config, a account) (programs, error) {
	if config.BinDir != "" {
		pg, err := checkPrograms(ctx, config.BinDir, a)
		if err != nil {
			return programs{}, fmt.Errorf("postgres-bin: %w", err)
		}
		return pg, nil
	}
	var rejected []string
	for _, dir := range candidateDirs(ctx) {
		pg, err := checkPrograms(ctx, dir, a)
		if err == nil {
			return pg, nil
		}
		rejected = append(rejected, err.Error())
	}
	if config.Download {
		pg, err := downloadedPrograms(ctx, config.Progress, a)
		if err == nil {
			return pg, nil
		}
		rejected = append(rejected, "download: "+err.Error())
	}
	return programs{}, errors.Join(ctx.Err(), errNotInstalled(rejected))
}

// candidateDirs lists the folders that hold a postgres program: that on PATH first, then newer versions first.
func candidateDirs(ctx context.Context) []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// The program may be a link to the folder that holds initdb too.
		if real, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
		dirs = append(dirs, filepath.Dir(path))
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		found, _ := filepath.Glob(pattern) // it fails for malformed patterns only
		slices.SortFunc(found, func(a, b string) int { return versionInPath(b) - versionInPath(a) })
		dirs = append(dirs, found...)
	}
	checked := map[string]bool{}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "postgres"))
		skip := err != nil || checked[dir]
		checked[dir] = true
		return skip
	})
}

// versionInPath is the first number in the path, or 0.
func versionInPath(dir string) int {
	n, _ := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(dir))
	return n
}

// checkPrograms returns the PostgreSQL in the folder, or why it is not usable.
func checkPrograms(ctx context.Context, dir string, a account) (programs, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return programs{}, err
	}
	for _, program := range []string{"postgres", "initdb"} {
		if info, err := os.Stat(filepath.Join(dir, program)); err != nil || info.IsDir() {
			return programs{}, fmt.Errorf("%s: no program %s in this folder", dir, program)
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version")
	cmd.Dir, cmd.Env = "/", minimalEnvironment()
	a.runAs(cmd)
	out, err := cmd.Output()
	if err != nil {
		return programs{}, fmt.Errorf("%s: %s cannot run postgres --version: %w", dir, a.name, err)
	}
	version := strings.TrimSpace(string(out))
	major, err := parseMajor(version)
	if err != nil {
		return programs{}, fmt.Errorf("%s: %w", dir, err)
	}
	if major < minMajor {
		return programs{}, fmt.Errorf("%s: PostgreSQL %d is too old, %d or newer is required", dir, major, minMajor)
	}
	return programs{dir: dir, version: version, major: major}, nil
}

// parseMajor parses the output of postgres --version, "postgres (PostgreSQL) 17.5" for example.
func parseMajor(version string) (int, error) {
	match := regexp.MustCompile(`\(PostgreSQL\) (\d+)`).FindStringSubmatch(version)
	if match == nil {
		return 0, fmt.Errorf("unexpected output of postgres --version: %q", version)
	}
	return strconv.Atoi(match[1])
}

// errNotInstalled says how to install PostgreSQL, and why the programs that were found are not usable.
func errNotInstalled(rejected []string) error {
	message := fmt.Sprintf("no PostgreSQL %d or newer on this machine: install it with\n\n    %s\n\nor name the folder of its programs with --postgres-bin",
		minMajor, installCommand(runtime.GOOS, exec.LookPath))
	if len(rejected) > 0 {
		message += "; not usable:\n" + strings.Join(rejected, "\n")
	}
	return errors.New(message)
}

func installCommand(system string, lookPath func(string) (string, error)) string {
	if system == "darwin" {
		return "brew install postgresql@17"
	}
	for _, manager := range [][2]string{
		{"dnf", "dnf install postgresql-server"},
		{"apk", "apk add postgresql"},
		{"pacman", "pacman -S postgresql"},
		{"zypper", "zypper install postgresql-server"},
	} {
		if _, err := lookPath(manager[0]); err == nil {
			return manager[1]
		}
	}
	return "apt-get install postgresql"
}
