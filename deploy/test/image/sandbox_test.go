package image

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"callboard/events/eventstest"
)

// user is the images' user and group.
const user = 65532

// settings are of a program whose servers do not exist: it runs, and is not ready.
func settings() []string {
	const secret = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=" //nolint:gosec // no secret of anything
	return []string{
		"CALLBOARD_NATS_URL=nats://127.0.0.1:1",
		"CALLBOARD_POSTGRES_URL=postgres://nobody@127.0.0.1:1/nothing",
		"CALLBOARD_BASE_URL=http://127.0.0.1/v1",
		"CALLBOARD_KEY_PEPPER=" + secret,
		"CALLBOARD_CURSOR_KEY=" + secret,
		"CALLBOARD_WEBHOOK_KEY=" + secret,
		"CALLBOARD_AUDIO_URL=s3://bucket?region=nowhere",
		"CALLBOARD_LISTEN=127.0.0.1:0",
		"CALLBOARD_ADMIN_LISTEN=127.0.0.1:0",
	}
}

// sandbox returns a directory that holds a program and nothing else. Nobody may write there.
func sandbox(t *testing.T, name string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: chroot needs root")
	}
	dir := t.TempDir()
	source, err := os.Open(program(root, name))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	target, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY, 0o555) //nolint:gosec // a program is executable
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(target, source); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(target.Close(), os.Chmod(dir, 0o555)); err != nil { //nolint:gosec // a root directory
		t.Fatal(err)
	}
	return dir
}

// confined is a command as in a container of the image: the directory is its root, and it is the first process of
// its namespace.
func confined(t *testing.T, dir, name string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), "/"+name, args...)
	command.Env, command.Dir = env, "/"
	command.SysProcAttr = &syscall.SysProcAttr{
		Chroot:     dir,
		Credential: &syscall.Credential{Uid: user, Gid: user},
		Cloneflags: syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	return command
}

// The servers run with nothing but their program, report that they are not ready, and end at SIGTERM as process 1.
func TestServers_InAChroot(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"projector", "readapi", "webhooks"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := sandbox(t, name)
			var log eventstest.LogBuffer
			server := confined(t, dir, name, settings())
			server.Stderr = &log
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			var admin []string
			eventstest.Eventually(t, "the admin address in the log", func() bool {
				admin = regexp.MustCompile(`"admin":"([^"]+)"`).FindStringSubmatch(log.String())
				return admin != nil
			})

			var errs bytes.Buffer
			check := confined(t, dir, name, []string{"CALLBOARD_ADMIN_LISTEN=" + admin[1]}, "healthcheck")
			check.Stderr = &errs
			if err := check.Run(); check.ProcessState.ExitCode() != 1 || !strings.Contains(errs.String(), "503 Service Unavailable") {
				t.Errorf("healthcheck: %v, errors = %q, want exit code 1 and 503", err, &errs)
			}

			if err := server.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := server.Wait(); err != nil {
				t.Errorf("after SIGTERM: %v, want exit code 0; log =\n%s", err, log.String())
			}
		})
	}
}

func TestCallboard_InAChroot(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	command := confined(t, sandbox(t, "callboard"), "callboard", nil, "version")
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil || !strings.HasPrefix(out.String(), "callboard ") {
		t.Errorf("version: %v, output = %q, errors = %q, want the version", err, &out, &errs)
	}
}
