package main

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	unreachable := map[string]string{
		"CALLBOARD_NATS_URL":     "nats://token@127.0.0.1:1",
		"CALLBOARD_POSTGRES_URL": "postgres://me:hunter2@127.0.0.1:1/x",
		"CALLBOARD_KEY_PEPPER":   "aHVudGVyMmh1bnRlcjJodW50ZXIyaHVudGVyMmh1bnRlcjI=",
	}
	issue := []string{"keys", "issue", "--name", "x", "--scopes", "calls:read"}
	for _, c := range []struct {
		name string
		env  map[string]string
		args []string
		code int
		want []string
	}{
		{"no command", nil, nil, 2, []string{"--help"}},
		{"unknown command", nil, []string{"webhook"}, 2, []string{"webhook"}},
		{"no settings", nil, []string{"status"}, 2, []string{"CALLBOARD_NATS_URL (--nats-url)", "CALLBOARD_POSTGRES_URL (--postgres-url)"}},
		{"no grant", unreachable, issue, 2, []string{"--system", "--group", "--organization"}},
		{"two grants", unreachable, append(issue, "--system", systemID, "--group", systemID), 2, []string{"--system"}},
		{"invalid network", unreachable, append(issue, "--system", systemID, "--allow", "10.1.2.3/8"), 2, []string{"--allow"}},
		{"invalid id", unreachable, []string{"keys", "revoke", "x"}, 2, []string{"invalid UUID"}},
		{"no database", unreachable, []string{"keys", "list"}, 1, []string{"connection refused", "CALLBOARD_POSTGRES_URL"}},
		{"no database to migrate", unreachable, []string{"migrate"}, 1, []string{"connection refused", "CALLBOARD_POSTGRES_URL"}},
		{"no NATS", unreachable, []string{"stream", "check"}, 1, []string{"NATS at nats://127.0.0.1:1", "CALLBOARD_NATS_URL"}},
		{"no file", unreachable, []string{"publish", "/nowhere/at/all"}, 1, []string{"no such file"}},
		{"no server", nil, []string{"healthcheck", "http://127.0.0.1:1/livez"}, 1, []string{"connection refused"}},
		{"no partitions", unreachable, []string{"stream", "create", "--partitions", "0"}, 2, []string{"--partitions"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := command(t, c.env, "", c.args...)
			if r.code != c.code {
				t.Errorf("exit code = %d, want %d: %s", r.code, c.code, r.err)
			}
			for _, want := range c.want {
				if !strings.Contains(r.err, want) {
					t.Errorf("errors = %s, want %q", r.err, want)
				}
			}
			for _, secret := range []string{"hunter2", "token", "aHVudGVy"} {
				if strings.Contains(r.out+r.err, secret) {
					t.Errorf("output contains a secret: %s%s", r.out, r.err)
				}
			}
		})
	}
}

// Every command has help without any setting, and --json. The test reads the commands from the help.
func TestHelp(t *testing.T) {
	t.Parallel()
	out := succeed(t, nil, "", "--help")
	var listed []string
	for _, match := range regexp.MustCompile(`(?m)^  ([a-z][a-z -]+?)(?: <| \[|  |$)`).FindAllStringSubmatch(out[strings.Index(out, "Commands:"):], -1) {
		listed = append(listed, match[1])
	}
	if len(listed) < 20 {
		t.Fatalf("commands in the help = %v, want 20 or more; output =\n%s", listed, out)
	}
	for _, name := range listed {
		out := succeed(t, nil, "", append(strings.Fields(name), "--help")...)
		if !strings.HasPrefix(out, "Usage: callboard "+name) || !strings.Contains(out, "--json") {
			t.Errorf("help of %s = %s, want its usage and --json", name, out)
		}
	}
}

func TestWebhooks_Usage(t *testing.T) {
	t.Parallel()
	env := map[string]string{"CALLBOARD_POSTGRES_URL": "postgres://me:hunter2@127.0.0.1:1/x", "CALLBOARD_WEBHOOK_KEY": base64.StdEncoding.EncodeToString([]byte(strings.Repeat("w", 32)))}
	for _, args := range [][]string{
		{"show"}, {"show", "x"}, {"pause"}, {"resume", "x"}, {"remove"}, {"rotate", systemID, "--overlap", "x"},
		{"test", systemID, "--kind", "call.started"},
		{"deliveries", systemID, "--state", "lost"}, {"deliveries", systemID, "--kind", "call.started"}, {"deliveries", systemID, "--limit", "0"},
		{"deliveries", systemID, "--since", "yesterday"},
		{"redeliver"}, {"redeliver", "x"}, {"redeliver", "1", "--endpoint", systemID}, {"redeliver", "--endpoint", systemID},
		{"redeliver", "--endpoint", systemID, "--state", "waiting"}, {"redeliver", "1", "--state", "dead"}, {"redeliver", "1", "--since", "1h"},
		{"replay", systemID}, {"replay", systemID, "--since", "-1h"}, {"replay", systemID, "--since", "1h", "--kinds", "all,call.ended"},
	} {
		expectUsageErrors(t, env, append([]string{"webhooks"}, args...))
	}
}
