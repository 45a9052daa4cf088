package command_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"callboard/deploy/test/programtest"
)

// A command whose new secret can't be written says which command replaces the secret, and that command leaves one
// that is known.
func TestSecretNotShown(t *testing.T) {
	f := newFleet(t)
	old := issueKey(t, f.operator(), systemID, "--name", "old", "--scopes", "calls:read")
	endpoint := f.addEndpoint()
	for _, c := range []struct {
		name string
		args []string
		want string // beside the command that replaces the secret
	}{
		{"issue", []string{"keys", "issue", "--name", "lost", "--system", systemID, "--scopes", "calls:read"}, "is active, and nobody knows it"},
		{"roll", []string{"keys", "roll", old.ID, "--overlap", "0s", "--json"}, "The old key, " + old.ID + ", has expired."},
		{"rotate", []string{"webhooks", "rotate", endpoint, "--overlap", "0s"}, "Requests to endpoint " + endpoint + " are signed with it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			errs := f.in(t).fail(c.args...)
			repair := regexp.MustCompile(`Run 'callboard (.*)' to replace it`).FindStringSubmatch(errs)
			if !strings.Contains(errs, "error: the new secret was not shown: write /dev/stdout: ") || !strings.Contains(errs, c.want) || repair == nil {
				t.Fatalf("error = %s, want that the secret was not shown, %q and a command", errs, c.want)
			}
			replaced := succeedJSON[struct {
				keyWithID
				Secret     string
				RolledFrom struct{ State string }
			}](t, f.operator(), strings.Fields(repair[1])...)
			if replaced.Key == "" && replaced.Secret == "" || replaced.Key != "" && replaced.RolledFrom.State != "expired" {
				t.Errorf("%s: id = %s, lost key = %q, want a secret and the lost key expired", repair[1], replaced.ID, replaced.RolledFrom.State)
			}
		})
	}
}

// fail runs a command as a process whose standard output is a full disk. It returns what the command prints to
// standard error.
func (f *fleet) fail(args ...string) string {
	f.Helper()
	var errs strings.Builder
	process := exec.CommandContext(f.Context(), programs.Path(f, "callboard"), args...) //nolint:gosec // a program under test
	process.Env, process.Stdout, process.Stderr = programtest.Environment(f.operator()), fullDisk(f.T), &errs
	if err := process.Run(); process.ProcessState == nil || process.ProcessState.ExitCode() != 1 {
		f.Fatalf("%v: %v, want exit code 1: %s", args, err, &errs)
	}
	return errs.String()
}

func fullDisk(t *testing.T) *os.File {
	t.Helper()
	file, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}
