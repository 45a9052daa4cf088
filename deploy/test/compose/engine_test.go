package compose

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

var engine = flag.Bool("engine", false, "start docker-compose.yml on this machine's container engine") //nolint:gochecknoglobals // a flag of this test

// sampleSystem is a phone system of 'callboard simulate' with its default seed.
const sampleSystem = "182fc76f-2708-4d73-8fa3-2b1154c7f9c5"

// TestEngine starts the installation and disturbs it. Its parts build on each other.
func TestEngine(t *testing.T) {
	c := newCheck(t, variant{"callboard-check", "172.16.79.0/24", []string{base}}, 4)
	c.parts(t, []part{
		{"C1 starts from a clean checkout", c.starts},
		{"C2 serves the sample", c.servesSample},
		{"C6 containers have no rights and no secrets", c.isUnprivileged},
		{"C7 readers reach no other network", c.isIsolated},
		{"C8 publishes one port", c.publishesOnePort},
		{"shows the console", c.showsConsole},
		{"sends webhooks", c.sendsWebhooks},
		{"C3 scales and restarts without a failed request", c.scales},
		{"C4 recovers from crashes", c.recovers("readapi", "projector", "webhooks", "nats", "postgres")},
		{"logs hold no secrets", c.logsHoldNoSecrets},
		{"C5 keeps its data", c.keepsData},
	})
}

// newCheck skips the test unless the flag -engine is set.
func newCheck(t *testing.T, v variant, readers int) *check {
	t.Helper()
	if !*engine {
		t.Skip("skipped: -engine is not set; 'make compose/check' sets it")
	}
	c := &check{installation: newInstallation(t, v), readers: readers}
	t.Logf("%s, load average %s", strings.Join(c.compose, " "), loadAverage())
	return c
}

// part is a part of a check, which builds on those before it.
type part struct {
	name string
	run  func(*testing.T)
}

// parts runs parts until one fails.
func (c *check) parts(t *testing.T, list []part) {
	t.Helper()
	for _, p := range list {
		if !t.Run(p.name, p.run) {
			t.Log(c.logs(t))
			return
		}
	}
}

// check is an installation and the keys that were issued for it.
type check struct {
	*installation
	readers int // under traffic
	keys    []string
	secrets map[string]string // by the names of their files
}

func (c *check) logs(t *testing.T) string {
	t.Helper()
	out, err := c.command(t.Context(), "logs", "--tail=40", "--no-color").CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return string(out)
}

func (c *check) callLogs() string { return c.callLogsOf(sampleSystem) }

func (c *check) callLogsOf(system string) string {
	return c.url("/customer/phone-systems/" + system + "/call-logs?pageSize=5")
}

// answer is the status and body of a request.
func answer(t *testing.T, url, key string) (int, string, http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("X-API-Key", key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error(), nil
	}
	return response.StatusCode, string(body), response.Header
}

func (c *check) starts(t *testing.T) {
	t.Helper()
	started := time.Now()
	var up sync.WaitGroup
	var err error
	var out []byte
	up.Go(func() { out, err = c.command(t.Context(), "up", "-d").CombinedOutput() })
	var body string
	eventually(t, "the first answer of a reader", func() bool {
		status, text, _ := answer(t, c.url("/customer/phone-systems"), "")
		body = text
		return status == http.StatusUnauthorized
	})
	t.Logf("first 401 after %s", time.Since(started).Round(100*time.Millisecond))
	up.Wait()
	if err != nil {
		t.Fatalf("up: %v\n%s", err, out)
	}
	c.waitUntilWell(t)
	t.Logf("all healthy or completed after %s, load average %s", time.Since(started).Round(100*time.Millisecond), loadAverage())
	if !strings.Contains(body, `"code":"UNAUTHENTICATED"`) {
		t.Errorf("answer without a key = %s, want a problem document", body)
	}
}

// issue issues a key as the documents say.
func (c *check) issue(t *testing.T, name string, flags ...string) string {
	t.Helper()
	out, err := c.command(t.Context(), append([]string{"run", "--rm", "-T", "tools", "keys", "issue", "--json", "--name", name,
		"--scopes", "calls:read"}, flags...)...).Output()
	var issued struct{ Key string }
	if err != nil || json.Unmarshal(out, &issued) != nil || issued.Key == "" {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Logf("%s", exit.Stderr)
		}
		t.Errorf("issue a key: %v", err)
	}
	return issued.Key
}

func (c *check) servesSample(t *testing.T) {
	t.Helper()
	c.run(t, "run", "--rm", "-T", "sample")
	key := c.issue(t, "first", "--system", sampleSystem)
	t.Logf("Data-Complete-Through is %s behind the clock", c.waitForPage(t, c.callLogs(), key).Round(time.Millisecond))
	c.keys = c.issuePremium(t, 22, sampleSystem)
}

// waitForPage waits for a page of calls that is complete up to two seconds ago, and returns how long ago it was
// complete.
func (c *check) waitForPage(t *testing.T, url, key string) (behind time.Duration) {
	t.Helper()
	eventually(t, "a page of calls that is complete up to two seconds ago", func() bool {
		status, body, header := answer(t, url, key)
		complete, err := time.Parse(time.RFC3339, header.Get("Data-Complete-Through"))
		behind = time.Since(complete)
		return status == http.StatusOK && err == nil && behind <= 2*time.Second && strings.Contains(body, `"callSid"`)
	})
	return behind
}

// issuePremium issues keys for traffic, each for 600 requests per minute.
func (c *check) issuePremium(t *testing.T, count int, system string) []string {
	t.Helper()
	keys := make([]string, count)
	var issuing errgroup.Group
	issuing.SetLimit(3)
	for n := range keys {
		issuing.Go(func() error {
			keys[n] = c.issue(t, "traffic-"+strconv.Itoa(n), "--tier", "premium", "--system", system)
			return nil
		})
	}
	_ = issuing.Wait()
	return keys
}

func (c *check) isUnprivileged(t *testing.T) {
	t.Helper()
	c.secrets = c.readSecrets(t)
	if len(c.secrets) < 10 {
		t.Errorf("secrets = %d files, want all of 'callboard secrets create'", len(c.secrets))
	}
	list := c.containers(t)
	for _, container := range list {
		host := container.HostConfig
		user, _, _ := strings.Cut(container.Config.User, ":")
		if user == "" || user == "0" || user == "root" {
			t.Errorf("%s runs as %q, want an unprivileged user", container.Name, container.Config.User)
		}
		if !host.ReadonlyRootfs || host.Privileged || len(host.CapAdd) > 0 || !slices.Equal(host.CapDrop, []string{"ALL"}) ||
			!slices.Contains(host.SecurityOpt, "no-new-privileges:true") || host.Memory == 0 || host.LogConfig.Config["max-size"] == "" {
			t.Errorf("%s: %+v, want no capabilities, a read-only file system, limits", container.Name, host)
		}
		visible := strings.Join(slices.Concat(container.Config.Env, container.Config.Cmd), "\n") +
			docker(t, "history", "--no-trunc", "--format", "{{.CreatedBy}}", container.Image)
		for name, secret := range c.secrets {
			if strings.Contains(visible, secret) {
				t.Errorf("%s: the environment, the command or the image's history holds the secret %s", container.Name, name)
			}
		}
	}
	t.Logf("%d containers inspected for %d secrets", len(list), len(c.secrets))
	c.checkReadable(t)
}

// checkReadable checks that each user reads the secrets of its program, and no others.
func (c *check) checkReadable(t *testing.T) {
	t.Helper()
	image := c.containers(t, "lb")[0].Image
	readable := map[string][]string{
		"999:999":     {"nats-passwords.conf", "postgres-owner-password"},
		"65531:65531": {"nats-passwords.conf", "nats-projector-url", "postgres-projector-url"},
		"65530:65530": {"cursor-key", "key-pepper", "nats-passwords.conf", "nats-reader-url", "postgres-reader-url"},
		"65528:65528": {"nats-passwords.conf", "nats-webhooks-url", "postgres-webhooks-url", "webhook-key"},
		"65529:65529": {"nats-passwords.conf"}, // hashes
	}
	if slices.Contains(c.files, cluster) {
		for user, also := range map[string]string{
			"65530:65530": "postgres-reader-replica-url", "65529:65529": "nats-cluster.conf", "65528:65528": "webhook-read-urls",
		} {
			readable[user] = slices.Sorted(slices.Values(append(readable[user], also)))
		}
		readable["65527:65527"] = []string{"nats-passwords.conf", "postgres-standby-password"}
	}
	for user, want := range readable {
		got := strings.Fields(docker(t, "run", "--rm", "--network", "none", "--user", user, "--cap-drop", "ALL", "-v", c.project+"_secrets:/secrets:ro",
			"--entrypoint", "sh", image, "-c", "cd /secrets && for f in *; do [ ! -r $f ] || echo $f; done"))
		if !slices.Equal(got, want) {
			t.Errorf("user %s reads %v, want %v", user, got, want)
		}
	}
}

// logsHoldNoSecrets reads all logs since the containers were created.
func (c *check) logsHoldNoSecrets(t *testing.T) {
	t.Helper()
	logs := c.run(t, "logs", "--no-color")
	passwords := regexp.MustCompile(`[A-Z2-7]{26}`)
	for name, secret := range c.secrets {
		for _, part := range append(passwords.FindAllString(secret, -1), secret) {
			if strings.Contains(logs, part) {
				t.Errorf("the logs hold a part of %s", name)
			}
		}
	}
	t.Logf("%d bytes of logs read for %d secrets", len(logs), len(c.secrets))
}

func (c *check) publishesOnePort(t *testing.T) {
	t.Helper()
	var published []string
	for _, container := range c.containers(t) {
		for inside, outside := range container.NetworkSettings.Ports {
			for _, port := range outside {
				published = append(published, fmt.Sprintf("%s %s:%s->%s", container.service(), port.HostIP, port.HostPort, inside))
			}
		}
	}
	want := []string{fmt.Sprintf("lb 127.0.0.1:%d->8080/tcp", c.port)}
	if !slices.Equal(published, want) {
		t.Errorf("published ports = %v, want %v", published, want)
	}
}

// showsConsole starts the profile console, reads the projector's page, and stops it.
func (c *check) showsConsole(t *testing.T) {
	t.Helper()
	c.run(t, "--profile", "console", "up", "-d", "--no-deps", "console")
	eventually(t, "the console", func() bool {
		status, page, _ := answer(t, fmt.Sprintf("http://127.0.0.1:%d/", c.console), "")
		return status == http.StatusOK && strings.Contains(page, "Nothing needs attention")
	})
	c.run(t, "--profile", "console", "rm", "--stop", "--force", "console")
}

// scales changes the number of readers and restarts each of them, under traffic.
func (c *check) scales(t *testing.T) {
	t.Helper()
	tr := startTraffic(t, c.callLogs(), c.keys)
	c.up(t, c.readers)
	c.waitForReaders(t, c.readers)
	t.Logf("%d readers, load average %s", c.readers, loadAverage())
	c.checkSpread(t)
	for _, reader := range c.containers(t, "readapi") {
		docker(t, "restart", "--time", "40", reader.ID)
		c.waitUntilWell(t)
		c.waitForReaders(t, c.readers)
	}
	t.Log("each reader was restarted")
	c.up(t, 1)
	c.waitForReaders(t, 1)
	if failed := tr.end(t, fmt.Sprintf("1 to %d readers, restart of each, back to 1", c.readers)); failed > 0 {
		t.Errorf("failed requests = %d, want 0", failed)
	}
}

// startTraffic returns when requests have been answered for a second.
func (c *check) startTraffic(t *testing.T) *traffic {
	t.Helper()
	tr := startTraffic(t, c.callLogs(), c.keys)
	tr.waitUntilFlowing(t)
	return tr
}

// checkSpread compares what each reader answers of 2,000 requests.
func (c *check) checkSpread(t *testing.T) {
	t.Helper()
	before := c.serversUp(t)
	total, counts := 0, map[string]int{}
	eventually(t, "2,000 more answers", func() bool {
		total = 0
		for server, answers := range c.serversUp(t) {
			counts[server] = answers - before[server]
			total += counts[server]
		}
		return total >= 2000
	})
	t.Logf("answers of each reader: %v", slices.Sorted(maps.Values(counts)))
	for server, count := range counts {
		if mean := total / c.readers; count < mean*8/10 || count > mean*12/10 {
			t.Errorf("%s answered %d of %d requests, want %d and at most 20 %% more or less", server, count, total, mean)
		}
	}
}

// recovers kills one container of each service under traffic.
func (c *check) recovers(services ...string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		c.up(t, 2)
		c.waitForReaders(t, 2)
		for _, service := range services {
			c.recoversFrom(t, service)
		}
		t.Log(c.run(t, "run", "--rm", "-T", "tools", "verify"))
	}
}

func (c *check) recoversFrom(t *testing.T, service string) {
	t.Helper()
	failed, inFlight := c.crash(t, service)
	// Without PostgreSQL nobody can read; every other crash costs at most what the killed process was doing.
	if limit := inFlight + c.readers; service != "postgres" && failed > limit {
		t.Errorf("failed requests = %d, want at most %d", failed, limit)
	}
}

// crash kills a container of a service under traffic for two readers. It returns how many requests failed, and how
// many were in flight.
func (c *check) crash(t *testing.T, service string) (failed, inFlight int) {
	t.Helper()
	c.waitUntilWell(t)
	c.waitForReaders(t, 2)
	tr := c.startTraffic(t)
	victim := c.containers(t, service)[0]
	inFlight = int(tr.inFlight.Load())
	killed := time.Now()
	c.kill(t, victim)
	eventually(t, service+" runs again", func() bool {
		again := c.containers(t, service)
		return slices.ContainsFunc(again, func(a container) bool { return a.ID == victim.ID && a.State.Pid != victim.State.Pid && a.well() })
	})
	c.waitUntilWell(t)
	c.waitForReaders(t, 2)
	t.Logf("%s was killed with %d requests in flight; all healthy after %s", service, inFlight, time.Since(killed).Round(100*time.Millisecond))
	failed = tr.end(t, "kill of "+service)
	c.requireNoInternalErrors(t, tr)
	return failed, inFlight
}

// requireNoInternalErrors requires that no request failed with 500, and prints the readers' log lines of such failures.
func (c *check) requireNoInternalErrors(t *testing.T, tr *traffic) {
	t.Helper()
	for failure := range tr.failures {
		if !strings.HasPrefix(failure, "500 ") {
			continue
		}
		t.Errorf("failure = %s, want 503", failure)
		shown := 0
		for line := range strings.Lines(c.run(t, "logs", "--no-color", "readapi")) {
			if strings.Contains(line, `"status":500`) && shown < 3 {
				t.Log(line)
				shown++
			}
		}
	}
}

func (c *check) keepsData(t *testing.T) {
	t.Helper()
	status, before, _ := answer(t, c.callLogs(), c.keys[0])
	if status != http.StatusOK {
		t.Fatalf("status = %d, want 200: %s", status, before)
	}
	c.run(t, "down")
	c.run(t, "up", "-d")
	c.waitUntilWell(t)
	c.waitForReaders(t, 1)
	if status, after, _ := answer(t, c.callLogs(), c.keys[0]); status != http.StatusOK || after != before {
		t.Errorf("after down and up: %d %s, want 200 and %s", status, after, before)
	}
	if slices.Contains(c.files, cluster) {
		c.expectCopies(t, 0)
	}
	c.run(t, "down", "-v")
	c.run(t, "up", "-d")
	c.waitUntilWell(t)
	c.waitForReaders(t, 1)
	if status, _, _ := answer(t, c.callLogs(), c.keys[0]); status != http.StatusUnauthorized {
		t.Errorf("status of an old key after down -v and up = %d, want 401", status)
	}
}
