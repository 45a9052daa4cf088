package main

import (
	"context"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/events/journal"
	"callboard/readapi/access"
)

type keysRecordCommand struct {
	output
	NATS     setting.KeyJournal `embed:""`
	Postgres setting.Postgres   `embed:""`
}

// Run records every key that is revoked or has an expiry.
func (c *keysRecordCommand) Run(ctx context.Context, streams process.Streams) error {
	var recorded int
	err := withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		keys, err := keyRegistry(pool).List(ctx)
		if err != nil {
			return err
		}
		return withStream(setting.NATS(c.NATS), func(js jetstream.JetStream) error {
			for _, k := range keys {
				if k.RevokedAt == nil && k.ExpiresAt == nil {
					continue
				}
				if err := publishEnd(ctx, js, keyRegistry(pool), k); err != nil {
					return fmt.Errorf("key %s: %w", k.ID, err)
				}
				recorded++
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return c.print(streams.Out, map[string]int{"recorded": recorded}, func(w io.Writer) error {
		return writeLines(w, fmt.Sprintf("Keys recorded in stream %s: %d.", journal.StreamName, recorded))
	})
}

// recordEnd records when a key ends. It connects to NATS only now: without NATS, a key can be revoked in the database.
func recordEnd(ctx context.Context, nats setting.KeyJournal, registry *access.Registry, key access.Record) error {
	return withStream(setting.NATS(nats), func(js jetstream.JetStream) error { return publishEnd(ctx, js, registry, key) })
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
	return fmt.Errorf("other commands have changed the key's end %d times meanwhile: run 'callboard keys record'", maxEnds)
}
