package main

import (
	"testing"

	"github.com/google/uuid"
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

// What a database is needed for to refuse it.
func TestWebhooks_Refused(t *testing.T) {
	f := newWebhooksFixture(t)
	id, unknown := f.register(), uuid.NewString()
	for _, args := range [][]string{
		{"rotate", id, "--overlap", "31d"}, {"replay", id, "--since", "1h", "--until", "2h"},
	} {
		expectUsageErrors(t, f.operator, append([]string{"webhooks"}, args...))
	}
	for _, args := range [][]string{
		{"show", unknown}, {"pause", unknown}, {"resume", unknown}, {"resume", unknown, "--skip"}, {"remove", unknown}, {"rotate", unknown},
		{"test", unknown}, {"deliveries", unknown}, {"redeliver", "--endpoint", unknown, "--state", "dead"}, {"replay", unknown, "--since", "1h"},
	} {
		f.expect(1, `no webhook endpoint has this id\nRun 'callboard webhooks list'`, args...)
	}
}
