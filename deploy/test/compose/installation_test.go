package compose

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"callboard/events/eventstest"
)

// installation is a clean copy of the checkout, which runs as a separate project.
type installation struct {
	variant
	dir     string
	version string // the tag of callboard's images
	port    int
	console int      // its port
	compose []string // docker compose, or docker-compose
}

// variant is what is installed.
type variant struct {
	project string
	subnet  string   // of the load balancer and the readers
	files   []string // of Compose, relative to the checkout
}

func newInstallation(t *testing.T, v variant) *installation {
	t.Helper()
	i := &installation{
		variant: v, dir: t.TempDir(), version: cmp.Or(os.Getenv("CALLBOARD_VERSION"), "dev"),
		port: eventstest.FreePort(t), console: eventstest.FreePort(t), compose: []string{"docker", "compose"},
	}
	if exec.CommandContext(t.Context(), "docker", "compose", "version").Run() != nil {
		i.compose = []string{"docker-compose"}
	}
	archive := exec.CommandContext(t.Context(), "sh", "-c", `
		if git rev-parse --quiet --verify HEAD >/dev/null
		then git archive "$(git stash create || true)" 2>/dev/null || git archive HEAD
		else tar -c --exclude=./bin .
		fi`)
	archive.Dir = root
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", i.dir)
	var err error
	if unpack.Stdin, err = archive.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(unpack.Start(), archive.Run(), unpack.Wait()); err != nil {
		t.Fatalf("copy the checkout: %v", err)
	}
	i.trustReceiver(t)
	i.down(t)
	t.Cleanup(func() { i.down(t) })
	return i
}

// command is a command of Compose in the installation.
func (i *installation) command(ctx context.Context, args ...string) *exec.Cmd {
	options := []string{"-p", i.project}
	for _, file := range i.files {
		options = append(options, "-f", file)
	}
	args = slices.Concat(i.compose[1:], options, args)
	command := exec.CommandContext(ctx, i.compose[0], args...) //nolint:gosec // the arguments are this test's
	command.Dir = i.dir
	command.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "COMPOSE_") || strings.HasPrefix(v, "CALLBOARD_")
	}), "CALLBOARD_VERSION="+i.version, "CALLBOARD_PORT="+strconv.Itoa(i.port), "CALLBOARD_CONSOLE_PORT="+strconv.Itoa(i.console), "CALLBOARD_SUBNET="+i.subnet,
		"CALLBOARD_BASE_URL="+i.url(""), "CALLBOARD_WEBHOOK_ALLOW_NETWORKS=172.16.0.0/12,192.168.0.0/16") // the engine's choices for the receiver's network
	return command
}

// run runs a command of Compose and returns what it prints.
func (i *installation) run(t *testing.T, args ...string) string {
	t.Helper()
	return output(t, i.command(t.Context(), args...))
}

// up starts what is missing, with a number of readers.
func (i *installation) up(t *testing.T, readers int) {
	t.Helper()
	i.run(t, "up", "-d", "--scale", "readapi="+strconv.Itoa(readers))
}

// down removes containers, networks and volumes.
func (i *installation) down(t *testing.T) {
	t.Helper()
	i.removeReceiver()
	if out, err := i.command(context.Background(), "down", "-v", "-t", "5").CombinedOutput(); err != nil {
		t.Errorf("remove the installation: %v: %s", err, out)
	}
}

func (i *installation) url(path string) string {
	return fmt.Sprintf("http://127.0.0.1:%d/v1%s", i.port, path)
}

// output returns what a command prints on its standard output.
func output(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	var errOut strings.Builder
	command.Stderr = &errOut
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(command.Args, " "), err, out, errOut.String())
	}
	return strings.TrimSpace(string(out))
}

func docker(t *testing.T, args ...string) string {
	t.Helper()
	return output(t, exec.CommandContext(t.Context(), "docker", args...))
}

// container is what the engine says about a container.
type container struct {
	ID     string `json:"Id"`
	Name   string
	Image  string
	Config struct {
		User   string
		Env    []string
		Cmd    []string
		Labels map[string]string
	}
	State struct {
		Status   string
		ExitCode int
		Pid      int
		Health   *struct{ Status string }
	}
	HostConfig struct {
		ReadonlyRootfs, Privileged   bool
		CapAdd, CapDrop, SecurityOpt []string
		Memory                       int
		LogConfig                    struct{ Config map[string]string }
	}
	NetworkSettings struct {
		Ports    map[string][]struct{ HostIP, HostPort string }
		Networks map[string]any
	}
}

func (c container) service() string { return c.Config.Labels["com.docker.compose.service"] }

// well reports whether the container is healthy, or has completed.
func (c container) well() bool {
	if c.State.Health != nil {
		return c.State.Health.Status == "healthy"
	}
	return c.State.Status == "exited" && c.State.ExitCode == 0
}

// containers are the installation's containers, of some services or of all.
func (i *installation) containers(t *testing.T, services ...string) (list []container) {
	t.Helper()
	ids := strings.Fields(docker(t, "ps", "-aq", "--no-trunc", "--filter", "label=com.docker.compose.project="+i.project))
	if len(ids) == 0 {
		return nil
	}
	var all []container
	// A container that is removed meanwhile is missing in the output, and makes the command fail.
	out, _ := exec.CommandContext(t.Context(), "docker", append([]string{"inspect"}, ids...)...).Output()
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Config.Labels["com.docker.compose.oneoff"] != "True" && (len(services) == 0 || slices.Contains(services, c.service())) {
			list = append(list, c)
		}
	}
	return list
}

// waitUntilWell waits until all containers are healthy or have completed.
func (i *installation) waitUntilWell(t *testing.T) {
	t.Helper()
	eventually(t, "all containers are healthy or have completed", func() bool {
		list := i.containers(t)
		return len(list) > 0 && !slices.ContainsFunc(list, func(c container) bool { return !c.well() })
	})
}

// eventually is [eventstest.Eventually] with more time: images start slowly on busy machines.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	eventstest.EventuallyWithin(t, 7*time.Minute, what, check)
}

// kill kills the container's process as a crash does. 'docker kill' would tell the engine not to start it again.
func (i *installation) kill(t *testing.T, c container) {
	t.Helper()
	image := i.containers(t, "lb")[0].Image
	docker(t, "run", "--rm", "--pid", "host", "--user", "0:0", "--network", "none", "--entrypoint", "kill", image, "-KILL", strconv.Itoa(c.State.Pid))
}

// serversUp are the readers that the load balancer sends requests to, and the requests that each has answered.
func (i *installation) serversUp(t *testing.T) map[string]int {
	t.Helper()
	metrics := docker(t, "exec", i.containers(t, "lb")[0].ID, "wget", "-q", "-O", "-", "http://127.0.0.1:8404/metrics")
	up, answered := map[string]int{}, map[string]int{}
	for line := range strings.Lines(metrics) {
		name, value, found := strings.Cut(strings.TrimSpace(line), "} ")
		_, server, isServer := strings.Cut(name, `server="`)
		if !found || !isServer || !strings.Contains(name, `proxy="readers"`) {
			continue
		}
		server, _, _ = strings.Cut(server, `"`)
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		switch {
		case strings.HasPrefix(name, "haproxy_server_status{") && strings.Contains(name, `state="UP"`) && n == 1:
			up[server] = 0
		case strings.HasPrefix(name, "haproxy_server_http_responses_total{"):
			answered[server] += int(n)
		}
	}
	for server := range up {
		up[server] = answered[server]
	}
	return up
}

// waitForReaders waits until the load balancer sends requests to count readers.
func (i *installation) waitForReaders(t *testing.T, count int) {
	t.Helper()
	eventually(t, strconv.Itoa(count)+" readers in the load balancer", func() bool { return len(i.serversUp(t)) == count })
}

// readSecrets returns all secrets by the names of their files.
func (i *installation) readSecrets(t *testing.T) map[string]string {
	t.Helper()
	image := i.containers(t, "lb")[0].Image
	volume := i.project + "_secrets:/secrets:ro"
	secrets := map[string]string{}
	names := docker(t, "run", "--rm", "--network", "none", "--user", "65532:65532", "-v", volume, "--entrypoint", "ls", image, "/secrets")
	for _, name := range strings.Fields(names) {
		secrets[name] = docker(t, "run", "--rm", "--network", "none", "--user", "65532:65532", "-v", volume,
			"--entrypoint", "cat", image, filepath.Join("/secrets", name))
	}
	return secrets
}

// loadAverage is the machine's, for the figures.
func loadAverage() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(content))[:3], " ")
}
