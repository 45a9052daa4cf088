package main

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/journal"
	"callboard/internal/run/setting"
	"callboard/readapi/access"
)

// recordEnd records when a key ends. It connects to NATS only now: without NATS, a key can be revoked in the database.
func recordEnd(ctx context.Context, nats setting.NATS, registry *access.Registry, key access.Record) error {
	return withStream(nats, func(js jetstream.JetStream) error { return publishEnd(ctx, js, registry, key) })
}

// maxEnds limits how often an end is published that changes meanwhile.
const maxEnds = 10

// publishEnd publishes when a key ends, until the database says the same afterwards. That has two reasons. Another command may have ended the
// key earlier, and its entry must not be replaced by this one. And the database may have failed over to a standby that lacks the end, after
// the projector had read the journal.
func publishEnd(ctx context.Context, js jetstream.JetStream, registry *access.Registry, key access.Record) error {
	end := journal.Entry{ID: key.ID, RevokedAt: key.RevokedAt, ExpiresAt: key.ExpiresAt}
	for range maxEnds {
		if err := journal.Publish(ctx, js, end); err != nil {
			return err
		}
		now, err := registry.Withdraw(ctx, end.ID, end.RevokedAt, end.ExpiresAt)
		if err != nil {
			return err
		}
		published := end
		end.RevokedAt, end.ExpiresAt = now.RevokedAt, now.ExpiresAt
		if end.Same(published) {
			return nil
		}
	}
	return fmt.Errorf("other commands have changed the key's end %d times meanwhile", maxEnds)
}
