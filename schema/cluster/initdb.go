package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// versionFile is in every data directory and holds the major version that created it.
const versionFile = "PG_VERSION"

func (d *directory) initialized() bool {
	_, err := os.Stat(filepath.Join(d.data(), versionFile))
	return err == nil
}

// initialize creates the data directory under another name and renames it when it is complete, so that Start repeats an
// interrupted initialization.
func (d *directory) initialize(ctx context.Context, pg programs, config Config) error {
	err := errors.Join(os.RemoveAll(d.staging()), os.RemoveAll(d.passwordFile()))
	switch {
	case err != nil:
	case config.Primary != "":
		err = d.copyPrimary(ctx, pg, config.Primary)
	case config.InitdbCache == "":
		err = d.initdb(ctx, pg)
	default:
		err = d.copyFromCache(ctx, pg, config.InitdbCache)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(d.staging()))
	}
	return os.Rename(d.staging(), d.data())
}

// initdb runs PostgreSQL's program of that name with a new password.
func (d *directory) initdb(ctx context.Context, pg programs) error {
	if err := d.createStaging(rand.Text()); err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	return runQuietly(ctx, d.command(pg, "initdb",
		"--pgdata", d.staging(), "--username", "postgres", "--pwfile", d.passwordFile(), "--auth", "scram-sha-256",
		"--encoding", "UTF8", "--locale", "C", "--no-instructions", "--no-sync"))
}

// createStaging creates an empty data directory and the file of the superuser's password.
func (d *directory) createStaging(password string) error {
	if err := os.Mkdir(d.staging(), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(d.passwordFile(), []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	return errors.Join(d.account.chown(d.staging()), d.account.chown(d.passwordFile()))
}

// runQuietly runs a program of which only an error's output is of interest.
func runQuietly(ctx context.Context, cmd *exec.Cmd) error {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := run(ctx, cmd); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, lastLines(output.String()))
	}
	return nil
}

// copyFromCache copies an initialized folder from the cache. If the cache has none of this PostgreSQL, it runs initdb and
// puts a copy into the cache.
func (d *directory) copyFromCache(ctx context.Context, pg programs, cache string) error {
	lock, err := waitLock(ctx, cache)
	if err != nil {
		return err
	}
	defer func() { _ = unlockDir(lock) }() // closing releases it too
	key := sha256.Sum256([]byte(pg.version + runtime.GOOS + runtime.GOARCH))
	cached := filepath.Join(cache, hex.EncodeToString(key[:8]))
	if _, err := os.Stat(cached); err != nil {
		if err := d.initdb(ctx, pg); err != nil {
			return err
		}
		// If the cache cannot be filled, the next cluster runs initdb too.
		incomplete := filepath.Join(cache, "incomplete")
		if os.RemoveAll(incomplete) == nil && os.CopyFS(incomplete, os.DirFS(d.path)) == nil {
			_ = os.Rename(incomplete, cached)
		}
		return nil
	}
	if err := os.CopyFS(d.path, os.DirFS(cached)); err != nil {
		return err
	}
	if err := errors.Join(os.Chmod(d.staging(), 0o700), os.Chmod(d.passwordFile(), 0o600), d.account.chown(d.passwordFile())); err != nil {
		return err
	}
	return filepath.WalkDir(d.staging(), func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, d.account.chown(path))
	})
}

// readPassword returns the superuser's password, if this PostgreSQL can run the cluster.
func (d *directory) readPassword(pg programs) (string, error) {
	version, err := os.ReadFile(filepath.Join(d.data(), versionFile))
	if err != nil {
		return "", fmt.Errorf("cluster's version: %w", err)
	}
	if major := strings.TrimSpace(string(version)); major != strconv.Itoa(pg.major) {
		return "", fmt.Errorf("the cluster in %s was created by PostgreSQL %s, but %s holds PostgreSQL %d: "+
			"create a new cluster with --fresh, or name the folder of PostgreSQL %[2]s with --postgres-bin",
			d.path, major, pg.dir, pg.major)
	}
	password, err := os.ReadFile(d.passwordFile())
	if err != nil {
		return "", fmt.Errorf("cluster's password: %w", err)
	}
	return strings.TrimSpace(string(password)), nil
}

// command is one of PostgreSQL's programs, run as the server's user in the cluster's folder.
func (d *directory) command(pg programs, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(pg.dir, program), args...) //nolint:noctx // signals end it, so that PostgreSQL can shut down
	cmd.Dir = d.path
	cmd.Env = minimalEnvironment()
	d.account.runAs(cmd)
	return cmd
}

// minimalEnvironment is what PostgreSQL's programs see of this process's environment, which may hold secrets, and PG*
// variables that change what the programs do.
func minimalEnvironment() []string {
	env := []string{"LC_ALL=C"}
	for _, name := range []string{"PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// copyPrimary copies a running server with pg_basebackup. The copy starts as a standby that streams from it.
func (d *directory) copyPrimary(ctx context.Context, pg programs, primary string) error {
	u, err := url.Parse(primary)
	if err != nil {
		return errors.New("primary: the URL can't be parsed") // the parser's error quotes the password
	}
	password, _ := u.User.Password()
	if err := d.createStaging(password); err != nil {
		return fmt.Errorf("pg_basebackup: %w", err)
	}
	cmd := d.command(pg, "pg_basebackup",
		"--pgdata", d.staging(), "--host", u.Hostname(), "--port", u.Port(), "--username", u.User.Username(), "--no-password",
		"--wal-method", "stream", "--checkpoint", "fast", "--write-recovery-conf", "--no-sync")
	cmd.Env = append(cmd.Env, "PGPASSWORD="+password) // not an argument, which other users see
	return runQuietly(ctx, cmd)
}
