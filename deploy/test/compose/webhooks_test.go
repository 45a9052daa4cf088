package compose

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callboard/internal/run"
)

// receiver is the host name of a receiver of webhooks in the senders' network.
const receiver = "receiver"

// trustReceiver makes senders of the installation trust the receiver's certificate.
func (i *installation) trustReceiver(t *testing.T) {
	t.Helper()
	folder := filepath.Join(i.dir, receiver)
	pair := filepath.Join(folder, "pair.pem")
	if err := os.Mkdir(folder, 0o755); err != nil { //nolint:gosec // containers read it
		t.Fatal(err)
	}
	if _, err := run.LoadCertificate(pair, receiver, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(pair, 0o644); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
	override := "services:\n  webhooks:\n" +
		"    environment: {CALLBOARD_WEBHOOK_CA_FILE: /receiver/pair.pem}\n" +
		"    volumes: [\"./receiver:/receiver:ro\"]\n"
	if err := os.WriteFile(filepath.Join(i.dir, "docker-compose.override.yml"), []byte(override), 0o600); err != nil {
		t.Fatal(err)
	}
	i.files = append(i.files, "docker-compose.override.yml")
}

// receiver is the name of the receiver's container.
func (i *installation) receiver() string { return i.project + "-" + receiver }

// removeReceiver removes the receiver, if there is one.
func (i *installation) removeReceiver() {
	_ = exec.Command("docker", "rm", "--force", i.receiver()).Run() //nolint:noctx // the test's context can have ended
}

// startReceiver starts a receiver, and returns a function that reads what it has printed.
func (c *check) startReceiver(t *testing.T) (printed func() string) {
	t.Helper()
	docker(t, "run", "--detach", "--name", c.receiver(), "--network", c.project+"_out", "--network-alias", receiver, "--read-only", "--tmpfs", "/tmp",
		"--cap-drop", "ALL", "-v", filepath.Join(c.dir, receiver)+":/receiver:ro", "callboard/callboard:"+c.version,
		"webhooks", "listen", "--json", "--certificate", "/receiver/pair.pem", "--listen", ":8443")
	t.Cleanup(c.removeReceiver)
	return func() string { return docker(t, "logs", c.receiver()) }
}

// sendsWebhooks registers an endpoint, publishes a call that has ended, and waits for the request and its record.
func (c *check) sendsWebhooks(t *testing.T) {
	t.Helper()
	printed := c.startReceiver(t)
	add := []string{"run", "--rm", "-T", "tools", "webhooks", "add", "--json", "--name", "check", "--kinds", "all", "--system", sampleSystem}
	refused := c.command(t.Context(), append(add, "https://169.254.169.254/")...)
	if out, err := refused.CombinedOutput(); err == nil || !strings.Contains(string(out), "is not a public address") {
		t.Errorf("add an endpoint at an address of metadata: %v\n%s, want it refused", err, out)
	}
	var added struct{ ID, Secret string }
	out := c.run(t, append(add, "https://"+receiver+":8443/")...)
	if err := json.Unmarshal([]byte(out), &added); err != nil || added.Secret == "" {
		t.Fatalf("add = %v, %s, want an endpoint with a secret", err, out)
	}
	c.publishEndedCall(t)
	published := time.Now()
	eventually(t, "the request for the call", func() bool { return strings.Contains(printed(), "call.ended") })
	t.Logf("the receiver had call.ended %s after the command that published it", time.Since(published).Round(time.Millisecond))
	eventually(t, "the record of the delivery", func() bool {
		return strings.Contains(c.run(t, "run", "--rm", "-T", "tools", "webhooks", "deliveries", added.ID), "delivered")
	})
	c.run(t, "run", "--rm", "-T", "tools", "webhooks", "remove", added.ID)
}

func (c *check) publishEndedCall(t *testing.T) {
	t.Helper()
	command := c.command(t.Context(), "run", "--rm", "-T", "-e", "CALLBOARD_NATS_URL_FILE=/secrets/nats-topology-url",
		"-e", "CALLBOARD_NATS_INBOX=_INBOX_topology", "tools", "publish", "-")
	call, err := json.Marshal(map[string]any{"type": "callboard.call.changed", "data": map[string]any{
		"id": "0b9f5d0e-2a43-4a0e-8a53-5c1b9c0d1e2f", "phoneSystemId": sampleSystem, "version": 1, "callSid": "CA0b9f5d0e2a434a0e8a535c1b9c0d1e2f",
		"direction": "inbound", "status": "completed", "from": "+14155550123", "to": "+14155550100", "createdAt": "2026-03-02T09:30:00Z",
		"isEmergency": false, "isConverted": false, "isEdited": false, "tags": []any{},
	}})
	if err != nil {
		t.Fatal(err)
	}
	command.Stdin = bytes.NewReader(call)
	output(t, command)
}
