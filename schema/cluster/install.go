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

// oldestMajor is the first PostgreSQL that has everything the schema uses.
const oldestMajor = 14

// install is a folder with PostgreSQL's programs.
type install struct {
	dir   string
	major int
}

// findInstall returns the PostgreSQL to run: the one that is named, else the
// first that will do among the installed ones, else a downloaded one.
func findInstall(ctx context.Context, config Config, owner account) (install, error) {
	if config.BinDir != "" {
		pg, err := inspect(ctx, config.BinDir, owner)
		if err != nil {
			return install{}, fmt.Errorf("postgres-bin: %w", err)
		}
		return pg, nil
	}
	var unfit []string
	for _, dir := range usualDirs(ctx) {
		pg, err := inspect(ctx, dir, owner)
		if err == nil {
			return pg, nil
		}
		unfit = append(unfit, err.Error())
	}
	if config.Download {
		pg, err := fetch(ctx, config, owner)
		if err == nil {
			return pg, nil
		}
		unfit = append(unfit, "fetch: "+err.Error())
	}
	return install{}, errors.Join(ctx.Err(), errNoInstall(unfit))
}

// usualDirs lists the folders that hold a postgres program, best first.
func usualDirs(ctx context.Context) []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// A link leads to the folder where initdb is.
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
		found, _ := filepath.Glob(pattern) // fails for malformed patterns only
		slices.SortFunc(found, func(a, b string) int { return number(b) - number(a) })
		dirs = append(dirs, found...)
	}
	return slices.DeleteFunc(distinct(dirs), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "postgres"))
		return err != nil
	})
}

func distinct(dirs []string) []string {
	var kept []string
	for _, dir := range dirs {
		if !slices.Contains(kept, dir) {
			kept = append(kept, dir)
		}
	}
	return kept
}

// number is the version in the name of a folder.
func number(dir string) int {
	n, _ := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(dir)) // without a number: 0, the oldest
	return n
}

// inspect tells which PostgreSQL is in the folder, and why it can't be used if it can't.
func inspect(ctx context.Context, dir string, owner account) (install, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return install{}, err
	}
	for _, program := range []string{"postgres", "initdb"} {
		if info, err := os.Stat(filepath.Join(dir, program)); err != nil || info.IsDir() {
			return install{}, fmt.Errorf("%s: it holds no program %s", dir, program)
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version")
	cmd.Dir, cmd.Env = "/", bareEnvironment()
	owner.assume(cmd)
	out, err := cmd.Output()
	if err != nil {
		return install{}, fmt.Errorf("%s: %s can't run its programs: %w", dir, owner.name, err)
	}
	major, err := parseMajor(string(out))
	if err != nil {
		return install{}, fmt.Errorf("%s: %w", dir, err)
	}
	if major < oldestMajor {
		return install{}, fmt.Errorf("%s: it holds PostgreSQL %d, and %d or newer is needed", dir, major, oldestMajor)
	}
	return install{dir: dir, major: major}, nil
}

// parseMajor reads what postgres --version prints, "postgres (PostgreSQL) 17.5" for example.
func parseMajor(version string) (int, error) {
	match := regexp.MustCompile(`\(PostgreSQL\) (\d+)`).FindStringSubmatch(version)
	if match == nil {
		return 0, fmt.Errorf("its program postgres calls itself %q", strings.TrimSpace(version))
	}
	return strconv.Atoi(match[1])
}

// errNoInstall says how to get a PostgreSQL, and why those that there are won't do.
func errNoInstall(unfit []string) error {
	message := fmt.Sprintf("no PostgreSQL %d or newer on this machine: install it with\n\n    %s\n\nor name the folder of its programs with --postgres-bin",
		oldestMajor, installCommand(runtime.GOOS, exec.LookPath))
	if len(unfit) > 0 {
		message += "; unfit were\n" + strings.Join(unfit, "\n")
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
