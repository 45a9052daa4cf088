package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	unreachable := map[string]string{
		"CALLBOARD_NATS_URL":     "nats://token@127.0.0.1:1",
		"CALLBOARD_POSTGRES_URL": "postgres://me:hunter2@127.0.0.1:1/x",
		"CALLBOARD_KEY_PEPPER":   "aHVudGVyMmh1bnRlcjJodW50ZXIyaHVudGVyMmh1bnRlcjI=",
	}
	const id = "7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10"
	for _, c := range []struct {
		name string
		env  map[string]string
		args []string
		code int
		says []string
	}{
		{"no command", nil, nil, 2, []string{"--help"}},
		{"no such command", nil, []string{"webhook"}, 2, []string{"webhook"}},
		{"no settings", nil, []string{"status"}, 2, []string{"CALLBOARD_NATS_URL (--nats-url)", "CALLBOARD_POSTGRES_URL (--postgres-url)"}},
		{"no grant", unreachable, []string{"keys", "issue", "--name", "x", "--scopes", "calls:read"}, 2, []string{"--system", "--group", "--organization"}},
		{"two grants", unreachable, []string{"keys", "issue", "--name", "x", "--scopes", "calls:read", "--system", id, "--group", id}, 2, []string{"--system"}},
		{"a network that is none", unreachable, []string{"keys", "issue", "--name", "x", "--scopes", "calls:read", "--system", id, "--allow", "10.1.2.3/8"}, 2, []string{"--allow"}},
		{"an id that is none", unreachable, []string{"keys", "revoke", "x"}, 2, []string{"invalid UUID"}},
		{"no database", unreachable, []string{"keys", "list"}, 1, []string{"connection refused", "CALLBOARD_POSTGRES_URL"}},
		{"no database to migrate", unreachable, []string{"migrate"}, 1, []string{"connection refused", "CALLBOARD_POSTGRES_URL"}},
		{"no NATS", unreachable, []string{"stream", "check"}, 1, []string{"NATS at nats://127.0.0.1:1", "CALLBOARD_NATS_URL"}},
		{"no file", unreachable, []string{"publish", "/nowhere/at/all"}, 1, []string{"no such file"}},
		{"nobody to ask", nil, []string{"healthcheck", "http://127.0.0.1:1/livez"}, 1, []string{"connection refused"}},
		{"no partitions", unreachable, []string{"stream", "create", "--partitions", "0"}, 2, []string{"--partitions"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := command(t, c.env, "", c.args...)
			if r.code != c.code {
				t.Errorf("exit %d: %s", r.code, r.err)
			}
			for _, want := range c.says {
				if !strings.Contains(r.err, want) {
					t.Errorf("it lacks %q: %s", want, r.err)
				}
			}
			for _, secret := range []string{"hunter2", "token", "aHVudGVy"} {
				if strings.Contains(r.out+r.err, secret) {
					t.Errorf("it shows a secret: %s%s", r.out, r.err)
				}
			}
		})
	}
}

func TestVersion(t *testing.T) {
	var v struct{ Version, Go string }
	if err := json.Unmarshal([]byte(succeed(t, nil, "", "version", "--json")), &v); err != nil || v.Version == "" || v.Go == "" {
		t.Errorf("%+v, %v", v, err)
	}
	if out := succeed(t, nil, "", "version"); !strings.HasPrefix(out, "callboard ") {
		t.Errorf("%s", out)
	}
}

// The help of every command can be had without a setting, and lists no command that there is not.
func TestHelp(t *testing.T) {
	for _, args := range [][]string{
		{}, {"dev"}, {"keys", "issue"}, {"keys", "list"}, {"keys", "show"}, {"keys", "roll"}, {"keys", "revoke"}, {"keys", "audit"},
		{"publish"}, {"simulate"}, {"stream", "create"}, {"stream", "check"}, {"migrate"}, {"status"}, {"rebuild"}, {"rollback"}, {"verify"}, {"repair"}, {"version"}, {"healthcheck"},
	} {
		out := succeed(t, nil, "", append(args, "--help")...)
		if !strings.HasPrefix(out, "Usage: callboard") {
			t.Errorf("%v: %s", args, out)
		}
		if len(args) > 0 && !strings.Contains(out, "--json") {
			t.Errorf("%v has no --json", args)
		}
	}
}

// The two servers refuse to start, and say all that they lack.
func TestServers_NoSettings(t *testing.T) {
	for name, settings := range map[string][]string{
		"projector": {"CALLBOARD_NATS_URL", "CALLBOARD_POSTGRES_URL"},
		"readapi":   {"CALLBOARD_NATS_URL", "CALLBOARD_POSTGRES_URL", "CALLBOARD_BASE_URL", "CALLBOARD_KEY_PEPPER", "CALLBOARD_CURSOR_KEY", "CALLBOARD_AUDIO_URL"},
	} {
		cmd := exec.CommandContext(t.Context(), program(name))
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%s: %v", name, err)
		}
		for _, s := range settings {
			if !strings.Contains(string(out), s) {
				t.Errorf("%s does not say %s: %s", name, s, out)
			}
		}
	}
}
