package image

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"callboard/events/eventstest"
)

// tag is the images' tag in this test.
const tag = "image-check"

// requireEngine skips the test where no container engine answers.
func requireEngine(t *testing.T) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "docker", "version").CombinedOutput(); err != nil {
		t.Skipf("skipped: no container engine: %v: %s", err, out)
	}
}

// buildImages builds the images over the programs, and removes them at the end of the test.
func buildImages(t *testing.T) {
	t.Helper()
	output(t, "make", "--no-print-directory", "-C", root, "images", "CALLBOARD_VERSION="+tag)
	t.Cleanup(func() {
		for _, name := range names() {
			if out, err := exec.Command("docker", "rmi", image(name)).CombinedOutput(); err != nil { //nolint:noctx // the test's context has ended
				t.Errorf("remove the image of %s: %v: %s", name, err, out)
			}
		}
	})
}

func image(name string) string { return "callboard/" + name + ":" + tag }

// inspection is what the engine says about an image.
type inspection struct {
	Size   int
	Config struct {
		User        string
		Env         []string
		Entrypoint  []string
		Labels      map[string]string
		Healthcheck struct{ Test []string }
	}
}

func inspect(t *testing.T, name string) (i inspection) {
	t.Helper()
	out := output(t, "docker", "image", "inspect", "--format", "{{json .}}", image(name))
	if err := json.Unmarshal([]byte(out), &i); err != nil {
		t.Fatal(err)
	}
	return i
}

func TestImages(t *testing.T) {
	t.Parallel()
	requireEngine(t)
	buildImages(t)
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			checkConfig(t, name, inspect(t, name))
			if name == "callboard" {
				checkFiles(t, name, []string{"backup/", "callboard", "nats/", "nats2/", "nats3/", "secrets/"})
				checkCommand(t)
				return
			}
			checkFiles(t, name, []string{name})
			checkServer(t, name)
		})
	}
}

func checkConfig(t *testing.T, name string, i inspection) {
	t.Helper()
	t.Logf("size of the image = %d bytes", i.Size)
	if i.Size > maxSize {
		t.Errorf("size = %d, want at most %d", i.Size, maxSize)
	}
	c := i.Config
	if id := strconv.Itoa(user); c.User != id+":"+id {
		t.Errorf("user = %s, want %s:%s", c.User, id, id)
	}
	if !slices.Equal(c.Entrypoint, []string{"/" + name}) {
		t.Errorf("entry point = %q, want the program", c.Entrypoint)
	}
	for _, variable := range c.Env {
		if !strings.HasPrefix(variable, "PATH=") {
			t.Errorf("environment has %s, want PATH at most", variable)
		}
	}
	if want := []string{"CMD", "/" + name, "healthcheck"}; name != "callboard" && !slices.Equal(c.Healthcheck.Test, want) {
		t.Errorf("health check = %q, want %q", c.Healthcheck.Test, want)
	}
	labels := map[string]string{
		"version": tag, "revision": revision(t), "source": "https://callboard.dev",
	}
	for label, want := range labels {
		if got := c.Labels["org.opencontainers.image."+label]; got != want {
			t.Errorf("label %s = %q, want %q", label, got, want)
		}
	}
}

// checkFiles compares an image's files with want. The engine itself adds the mount points that it needs.
func checkFiles(t *testing.T, name string, want []string) {
	t.Helper()
	id := strings.TrimSpace(output(t, "docker", "create", image(name)))
	defer output(t, "docker", "rm", id)
	archive := t.TempDir() + "/files.tar"
	output(t, "docker", "export", "--output", archive, id)
	var got []string
	for _, file := range strings.Fields(output(t, "tar", "--list", "--file", archive)) {
		top, _, _ := strings.Cut(file, "/")
		if !slices.Contains([]string{".dockerenv", "dev", "etc", "proc", "sys"}, top) {
			got = append(got, file)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("files = %q, want %q", got, want)
	}
}

// confinement are the flags under which every image must run.
func confinement() []string {
	return []string{"--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "none"}
}

func checkCommand(t *testing.T) {
	t.Helper()
	args := append([]string{"run", "--rm"}, confinement()...)
	if out := output(t, "docker", append(args, image("callboard"), "version")...); !strings.HasPrefix(out, "callboard ") {
		t.Errorf("version = %q, want it to begin with callboard", out)
	}
}

// checkServer starts a container, asks for its health and stops it.
func checkServer(t *testing.T, name string) {
	t.Helper()
	args := append([]string{"run", "--detach"}, confinement()...)
	for _, setting := range settings() {
		// The health check finds the address that the program has without this setting.
		if !strings.HasPrefix(setting, "CALLBOARD_ADMIN_LISTEN=") {
			args = append(args, "--env", setting)
		}
	}
	id := strings.TrimSpace(output(t, "docker", append(args, image(name))...))
	defer output(t, "docker", "rm", "--force", id)

	var out []byte
	eventstest.Eventually(t, "a health check that reaches the program", func() bool {
		out, _ = exec.CommandContext(t.Context(), "docker", "exec", id, "/"+name, "healthcheck").CombinedOutput()
		return strings.Contains(string(out), "503 Service Unavailable")
	})
	output(t, "docker", "stop", "--time", "60", id)
	if code := strings.TrimSpace(output(t, "docker", "inspect", "--format", "{{.State.ExitCode}}", id)); code != "0" {
		logs, _ := exec.CommandContext(t.Context(), "docker", "logs", id).CombinedOutput()
		t.Errorf("exit code after SIGTERM = %s, want 0; log =\n%s", code, logs)
	}
}
