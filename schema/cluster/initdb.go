package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// versionFile is in every data directory and holds the major version that made it.
const versionFile = "PG_VERSION"

func (h *home) initialized() bool {
	_, err := os.Stat(filepath.Join(h.data(), versionFile))
	return err == nil
}

// initialize makes the data directory. It gets its name when it is complete, so
// an interruption leaves nothing that looks like a cluster.
func (h *home) initialize(ctx context.Context, pg install, durable bool) error {
	staging := filepath.Join(h.dir, stagingName)
	if err := h.stage(staging); err != nil {
		return err
	}
	args := []string{
		"--pgdata", staging, "--username", "postgres", "--pwfile", h.password(),
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-instructions",
	}
	if !durable {
		args = append(args, "--no-sync")
	}
	var output bytes.Buffer
	cmd := h.command(pg, "initdb", args...)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := run(ctx, cmd); err != nil {
		return errors.Join(fmt.Errorf("%w\n%s", err, lastLines(output.String())), os.RemoveAll(staging))
	}
	return os.Rename(staging, h.data())
}

// stage prepares what initdb needs: an empty directory and a password of its user's.
func (h *home) stage(staging string) error {
	if err := os.RemoveAll(staging); err != nil {
		return err
	}
	if err := os.Mkdir(staging, 0o700); err != nil {
		return err
	}
	if err := h.owner.own(staging); err != nil {
		return err
	}
	if err := os.WriteFile(h.password(), []byte(rand.Text()+"\n"), 0o600); err != nil {
		return err
	}
	return h.owner.own(h.password())
}

// open checks that this PostgreSQL can run the cluster and returns its superuser's password.
func (h *home) open(pg install) (string, error) {
	made, err := os.ReadFile(filepath.Join(h.data(), versionFile))
	if err != nil {
		return "", fmt.Errorf("cluster's version: %w", err)
	}
	if major := strings.TrimSpace(string(made)); major != strconv.Itoa(pg.major) {
		return "", fmt.Errorf("the cluster in %s was made by PostgreSQL %s, and %s holds PostgreSQL %d: "+
			"make a new cluster with --fresh, or name the folder of PostgreSQL %[2]s with --postgres-bin",
			h.dir, major, pg.dir, pg.major)
	}
	password, err := os.ReadFile(h.password())
	if err != nil {
		return "", fmt.Errorf("cluster's password: %w", err)
	}
	return strings.TrimSpace(string(password)), nil
}

// command is one of PostgreSQL's programs, run as the server's user in the cluster's folder.
func (h *home) command(pg install, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(pg.dir, program), args...) //nolint:noctx // it ends by signals, which let PostgreSQL shut down
	cmd.Dir = h.dir
	cmd.Env = bareEnvironment()
	h.owner.assume(cmd)
	return cmd
}

// bareEnvironment is all that PostgreSQL's programs get to see of this program's
// environment: it may hold secrets, and PG* variables that would change what they do.
func bareEnvironment() []string {
	env := []string{"LC_ALL=C"}
	for _, name := range []string{"PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
