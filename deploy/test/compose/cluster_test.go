package compose

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestClusterEngine starts the installation with three NATS servers and a standby of PostgreSQL, and stops one
// after the other.
func TestClusterEngine(t *testing.T) {
	c := newCheck(t, variant{"callboard-check-cluster", "172.16.80.0/24", []string{base, cluster}}, 3)
	c.parts(t, []part{
		{"starts from a clean checkout", c.starts},
		{"serves the sample", c.servesSample},
		{"streams have three replicas", c.streamsAreReplicated},
		{"readers read the standby", c.readsStandby},
		{"containers have no rights and no secrets", c.isUnprivileged},
		{"sends webhooks", c.sendsWebhooks},
		{"scales and restarts without a failed request", c.scales},
		{"recovers from crashes", c.recovers("nats", "nats2", "nats3", "replica")},
		{"reads the primary without a standby", c.readsPrimary},
		{"copies the primary again", c.copiesAgain},
		{"logs hold no secrets", c.logsHoldNoSecrets},
		{"keeps its data", c.keepsData},
	})
}

// streamsAreReplicated waits until both followers of each stream have what its leader has.
func (c *check) streamsAreReplicated(t *testing.T) {
	t.Helper()
	for _, service := range []string{"nats", "nats2", "nats3"} {
		var problem string
		var streams int
		eventually(t, "replicas of all streams on "+service, func() bool {
			streams, problem = c.replicas(t, service)
			return streams >= 4 && problem == ""
		})
		t.Logf("%s has %d streams with three replicas", service, streams)
	}
}

// replicas returns the number of streams that a server has, and what is missing in them.
func (c *check) replicas(t *testing.T, service string) (streams int, problem string) {
	t.Helper()
	type peer struct{ Current bool }
	var answer struct {
		Accounts []struct {
			Streams []struct {
				Name   string
				Config struct {
					Replicas int `json:"num_replicas"`
				}
				Cluster struct {
					Leader   string
					Replicas []peer
				}
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	out := docker(t, "exec", c.containers(t, service)[0].ID, "wget", "-q", "-O", "-", "http://127.0.0.1:8222/jsz?accounts=true&streams=true&config=true")
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatalf("%s: %v: %s", service, err, out)
	}
	for _, account := range answer.Accounts {
		for _, stream := range account.Streams {
			streams++
			if stream.Config.Replicas != 3 || len(stream.Cluster.Replicas) != 2 || stream.Cluster.Leader == "" {
				problem = stream.Name + " has not three replicas and a leader"
			}
			for _, replica := range stream.Cluster.Replicas {
				if stream.Cluster.Leader == service && !replica.Current {
					problem = stream.Name + " has a replica that is not current"
				}
			}
		}
	}
	return streams, problem
}

// sessions returns the number of processes of a PostgreSQL server whose title has a text.
func (c *check) sessions(t *testing.T, service, title string) int {
	t.Helper()
	return strings.Count(docker(t, "top", c.containers(t, service)[0].ID, "-o", "pid,args"), title)
}

func (c *check) readsStandby(t *testing.T) {
	t.Helper()
	eventually(t, "a session of readers on the standby", func() bool { return c.sessions(t, "replica", "callboard_reader") > 0 })
	if got := c.sessions(t, "postgres", "walsender callboard_standby"); got != 1 {
		t.Errorf("walsenders of the primary = %d, want 1", got)
	}
}

// readsPrimary stops the standby for a while under traffic, and starts it again.
func (c *check) readsPrimary(t *testing.T) {
	t.Helper()
	tr := c.startTraffic(t)
	inFlight := int(tr.inFlight.Load())
	stopped := time.Now()
	c.run(t, "stop", "replica")
	t.Logf("the standby was stopped in %s", time.Since(stopped).Round(100*time.Millisecond))
	before := tr.count()
	eventually(t, "20 seconds of answers without a standby", func() bool { return tr.count()-before >= 20*requestsPerSecond })
	c.run(t, "start", "replica")
	c.waitUntilWell(t)
	if failed := tr.end(t, "stop and start of the standby"); failed > inFlight+c.readers {
		t.Errorf("failed requests = %d, want at most %d", failed, inFlight+c.readers)
	}
	c.expectCopies(t, 1) // that of the first start
}

// expectCopies checks how often the standby's container has copied the primary.
func (c *check) expectCopies(t *testing.T, want int) {
	t.Helper()
	if got := strings.Count(c.run(t, "logs", "--no-color", "replica"), "the primary was copied"); got != want {
		t.Errorf("copies of the primary = %d, want %d", got, want)
	}
}

// copiesAgain replaces the standby and its data by a new copy, as the documents say, under traffic.
func (c *check) copiesAgain(t *testing.T) {
	t.Helper()
	tr := c.startTraffic(t)
	inFlight := int(tr.inFlight.Load())
	c.run(t, "rm", "--stop", "--force", "replica")
	docker(t, "volume", "rm", c.project+"_replica")
	c.up(t, 2)
	c.waitUntilWell(t)
	if failed := tr.end(t, "a new copy of the primary"); failed > inFlight+c.readers {
		t.Errorf("failed requests = %d, want at most %d", failed, inFlight+c.readers)
	}
	c.expectCopies(t, 1)
	if got := c.sessions(t, "postgres", "walsender callboard_standby"); got != 1 {
		t.Errorf("walsenders of the primary = %d, want 1", got)
	}
}
