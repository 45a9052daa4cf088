package compose

import (
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"
)

// internet is an address that the counter-test must reach, or else the machine reaches no internet.
const internet = "deb.debian.org:80"

// isIsolated checks what the services reach beside their own networks. Only senders of webhooks reach others. The
// load balancer's network, which publishes the port, is the counter-test. Engines leave the host itself reachable
// from every network.
func (c *check) isIsolated(t *testing.T) {
	t.Helper()
	lb, reader, projector := c.containers(t, "lb")[0], c.containers(t, "readapi")[0], c.containers(t, "projector")[0]
	sender := c.containers(t, "webhooks")[0]
	for _, container := range []container{reader, projector, c.containers(t, "postgres")[0], c.containers(t, "nats")[0]} {
		for name := range container.NetworkSettings.Networks {
			if got := docker(t, "network", "inspect", "--format", "{{.Internal}}", name); got != "true" {
				t.Errorf("%s: network %s is internal: %s, want true", container.Name, name, got)
			}
		}
	}
	outside := "192.0.2.1:80"
	connection, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(t.Context(), "tcp", internet)
	if err == nil {
		outside = connection.RemoteAddr().String()
		_ = connection.Close()
	}
	online := err == nil && c.reaches(t, lb, outside)
	if !online {
		t.Logf("%s is not reachable from a network that is not internal, so the counter-test is missing", internet)
	}
	for _, place := range []struct {
		from    container
		address string
		want    bool
	}{
		{lb, outside, online},
		{reader, outside, false},
		{projector, outside, false},
		{reader, "postgres:5432", true},
		{reader, "nats:4222", true},
		{lb, "readapi:8080", true},
		{lb, "postgres:5432", false},
		{lb, "nats:4222", false},
		{sender, outside, online},
		{sender, "postgres:5432", true},
		{sender, "nats:4222", true},
		{sender, "nats:8222", false},
		{sender, "readapi:8080", false},
		{sender, "readapi:9090", false},
		{sender, "projector:9091", false},
		{sender, "lb:8080", false},
		{reader, "webhooks:9092", false},
	} {
		if got := c.reaches(t, place.from, place.address); got != place.want {
			t.Errorf("from the network of %s: %s reachable = %v, want %v", place.from.Name, place.address, got, place.want)
		}
	}
}

// reaches reports whether an address accepts connections from a container's networks.
func (c *check) reaches(t *testing.T, from container, address string) bool {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	image := c.containers(t, "lb")[0].Image
	command := fmt.Sprintf("timeout 10 nc -w 3 %s %s </dev/null >/dev/null", host, port)
	return exec.CommandContext(t.Context(), "docker", "run", "--rm", "--network", "container:"+from.ID, //nolint:gosec // as above
		"--entrypoint", "sh", image, "-c", command).Run() == nil
}
