package compose

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"callboard/events"
	"callboard/events/sample"
)

// outage is how long a worker is down.
const outage = 15 * time.Second

const citus = "deploy/compose/citus.yml"

// TestCitusEngine starts the installation with the projection on two workers, and takes servers away. Its parts
// build on each other.
func TestCitusEngine(t *testing.T) {
	image := load(t, citus).Services["worker1"].Image
	if *engine && exec.CommandContext(t.Context(), "docker", "image", "inspect", image).Run() != nil { //nolint:gosec // an image of this checkout
		t.Skipf("skipped: there is no image %s; pull it, or run deploy/standin/citus and 'make standin'", image)
	}
	c := &citusCheck{check: newCheck(t, variant{"callboard-check-citus", "172.16.81.0/24", []string{base, citus}}, 2)}
	c.parts(t, []part{
		{"starts from a clean checkout", c.starts},
		{"serves the sample", c.servesSample},
		{"has partitions on each worker", c.isDistributed},
		{"containers have no rights and no secrets", c.isUnprivileged},
		{"sends webhooks", c.sendsWebhooks},
		{"serves the other phone systems while a worker is down", c.losesWorker},
		{"recovers from crashes", c.recovers},
		{"logs hold no secrets", c.logsHoldNoSecrets},
		{"keeps its data", c.keepsData},
	})
}

// citusCheck is a check of an installation with Citus.
type citusCheck struct {
	*check
	other string            // a phone system of the sample whose partition is on the other worker than that of sampleSystem
	nodes map[string]string // the workers of the phone systems of the sample
}

// isDistributed reads which worker has which phone systems, and finds a phone system of each.
func (c *citusCheck) isDistributed(t *testing.T) {
	t.Helper()
	var status struct {
		Partitions []struct {
			Partition int
			Node      string
		}
	}
	if err := json.Unmarshal([]byte(c.run(t, "run", "--rm", "-T", "tools", "status", "--json")), &status); err != nil {
		t.Fatal(err)
	}
	partitions := map[string]int{}
	for _, p := range status.Partitions {
		partitions[p.Node]++
	}
	want := len(status.Partitions) / 2
	if partitions["worker1:5432"] != want || partitions["worker2:5432"] != want {
		t.Fatalf("partitions of each node = %v, want %d on each worker", partitions, want)
	}
	c.nodes = map[string]string{}
	for _, system := range sample.New(sample.Config{Seed: 1}).Systems() {
		node := status.Partitions[events.Partition(system.ID, len(status.Partitions))].Node
		worker, _, _ := strings.Cut(node, ":")
		c.nodes[system.ID.String()] = worker
	}
	for system, worker := range c.nodes {
		if worker != c.nodes[sampleSystem] {
			c.other = system
		}
	}
	if c.other == "" {
		t.Fatalf("workers of the phone systems = %v, want two", c.nodes)
	}
	t.Logf("partitions of each node: %v", partitions)
}

// losesWorker stops each worker for some seconds. Requests for phone systems of the other worker are answered as usual.
func (c *citusCheck) losesWorker(t *testing.T) {
	t.Helper()
	keys := map[string][]string{sampleSystem: c.keys[:6], c.other: c.issuePremium(t, 6, c.other)}
	for _, worker := range []string{"worker1", "worker2"} {
		c.waitUntilWell(t)
		lost, kept := sampleSystem, c.other
		if c.nodes[lost] != worker {
			lost, kept = kept, lost
		}
		c.waitForPage(t, c.callLogsOf(lost), keys[lost][0])
		lostTraffic := startTrafficAt(t, 5, c.callLogsOf(lost), keys[lost][1:])
		keptTraffic := startTrafficAt(t, 40, c.callLogsOf(kept), keys[kept][1:])
		keptTraffic.waitUntilFlowing(t)
		lostTraffic.waitUntilFlowing(t)
		victim := c.containers(t, worker)[0]
		docker(t, "kill", victim.ID)
		<-time.After(outage)
		resolution := c.resolution(t, worker)
		status, body, _ := answer(t, c.callLogsOf(lost), keys[lost][0])
		if status != http.StatusServiceUnavailable {
			t.Errorf("answer for a phone system of %s = %d %s, want 503", worker, status, body)
		}
		started := time.Now()
		docker(t, "start", victim.ID)
		c.waitForPage(t, c.callLogsOf(lost), keys[lost][0])
		t.Logf("after the start of %s, a page of it was complete after %s; while it was down, the engine needed %s for its name", worker,
			time.Since(started).Round(100*time.Millisecond), resolution.Round(time.Millisecond))
		lostTraffic.end(t, "phone system of "+worker)
		failed := keptTraffic.end(t, "phone system of the other worker")
		if failed > 0 {
			t.Errorf("failed requests for a phone system of the other worker = %d, want 0", failed)
		}
		for failure := range lostTraffic.failures {
			if !strings.HasPrefix(failure, "503 ") {
				t.Errorf("failure = %s, want 503", failure)
			}
		}
	}
}

// resolution is how long the engine needs to say that it does not know the name of a container. Older ones give no
// answer.
func (c *citusCheck) resolution(t *testing.T, name string) time.Duration {
	t.Helper()
	coordinator := c.containers(t, "postgres")[0]
	output := docker(t, "exec", coordinator.ID, "bash", "-c", "started=${EPOCHREALTIME/./}; getent ahostsv4 "+name+
		" >/dev/null; echo $((${EPOCHREALTIME/./} - started))")
	microseconds, err := strconv.Atoi(output)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(microseconds) * time.Microsecond
}

// recovers kills each worker and the coordinator under traffic. The engine starts them again.
func (c *citusCheck) recovers(t *testing.T) {
	t.Helper()
	c.up(t, 2)
	for _, service := range []string{c.nodes[sampleSystem], c.nodes[c.other], "postgres"} {
		failed, inFlight := c.crash(t, service)
		healthy := time.Now()
		c.waitForPage(t, c.callLogs(), c.keys[0])
		t.Logf("a page was complete again %s later", time.Since(healthy).Round(100*time.Millisecond))
		if limit := inFlight + c.readers; service == c.nodes[c.other] && failed > limit {
			t.Errorf("failed requests for a phone system of the other worker = %d, want at most %d", failed, limit)
		}
	}
	t.Log(c.run(t, "run", "--rm", "-T", "tools", "verify"))
}
