package main

import (
	"testing"
)

func TestWebhooks_Usage(t *testing.T) {
	t.Parallel()
	env := map[string]string{"CALLBOARD_POSTGRES_URL": "postgres://me:hunter2@127.0.0.1:1/x", "CALLBOARD_WEBHOOK_KEY": testWebhookKey()}
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
