package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/internal/run"
	"callboard/internal/run/setting"
	"callboard/readapi/access"
)

type keysCommand struct {
	Issue  keysIssueCommand  `cmd:"" help:"Issue a key and print it. It can't be printed again."`
	List   keysListCommand   `cmd:"" help:"List all keys, the newest first."`
	Show   keysShowCommand   `cmd:"" help:"Show a key's rights, state, last use and the other keys of its lineage."`
	Roll   keysRollCommand   `cmd:"" help:"Replace a key by a new one with the same rights and print it. The old one stays valid for --overlap. NATS records its end, too."`
	Revoke keysRevokeCommand `cmd:"" help:"Revoke a key. The next request with it is refused. NATS records this, too: PostgreSQL can lose it in a failover or a restore."`
	Audit  keysAuditCommand  `cmd:"" help:"List the requests of a key, the newest first, without those of the other keys of its lineage."`
}

// keyRegistry is for commands that issue no keys, and so need no pepper.
func keyRegistry(pool *pgxpool.Pool) *access.Registry {
	return access.NewRegistry(pool, access.Pepper{})
}

func withKeyAdvice(err error, id uuid.UUID) error {
	if errors.Is(err, access.ErrUnknownKey) {
		return fmt.Errorf("no key has the id %s\nRun 'callboard keys list' to list all keys", id)
	}
	return asUsageError(err)
}

// asUsageError makes a usage error of an invalid request.
func asUsageError(err error) error {
	var invalid *access.InvalidError
	if errors.As(err, &invalid) {
		return &run.UsageError{Detail: err.Error()}
	}
	return err
}

// grantFlags name what a key or an endpoint covers.
type grantFlags struct {
	System       *uuid.UUID `xor:"grant" required:"" placeholder:"UUID" help:"One phone system. One of --system, --group and --organization is required."`
	Group        *uuid.UUID `xor:"grant" required:"" placeholder:"UUID" help:"The current members of a phone system group."`
	Organization *uuid.UUID `xor:"grant" required:"" placeholder:"UUID" help:"The phone systems directly attached to an organization."`
}

func (f grantFlags) grant() (kind string, id uuid.UUID) {
	switch {
	case f.System != nil:
		return "system", *f.System
	case f.Group != nil:
		return "group", *f.Group
	}
	return "organization", *f.Organization
}

type keysIssueCommand struct {
	output
	Name string `required:"" help:"A name for the key."`
	grantFlags
	Scopes       []string         `required:"" placeholder:"A:READ" help:"What the key may read: ${scopes}."`
	OwnExtension *uuid.UUID       `placeholder:"UUID" help:"Narrow calls:read to this extension's own calls."`
	Allow        []netip.Prefix   `type:"networks" placeholder:"CIDR,..." help:"Accept the key only from these networks."`
	Expires      time.Duration    `min:"1s" placeholder:"30d" help:"The key's lifetime. Default: unlimited."`
	Tier         string           `enum:"standard,premium" default:"standard" help:"The rate tier: standard or premium."`
	Postgres     setting.Postgres `embed:""`
	Pepper       setting.Pepper   `embed:""`
}

// Run issues a key.
func (c *keysIssueCommand) Run(ctx context.Context, streams run.Streams) error {
	request := c.request(time.Now())
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		registry := access.NewRegistry(pool, c.Pepper.Peppers[0])
		covers, err := registry.Covers(ctx, request.Grant)
		if err != nil {
			return err
		}

		issued, err := registry.Issue(ctx, request)
		if err != nil {
			return asUsageError(err)
		}

		// A grant without phone systems is a warning only: the events about them may be on their way.
		if !covers {
			fmt.Fprintln(streams.Err, coversNothing(request.Grant))
		}
		key := issuedKey{issued.Key.Reveal(), issued.Record}
		return c.printSecret(streams.Out, key, key.lines(), lostKey(key.ID))
	})
}

func (c *keysIssueCommand) request(now time.Time) access.KeySpec {
	kind, id := c.grant()
	r := access.KeySpec{
		Name: c.Name, Grant: access.Grant{Kind: access.GrantKind(kind), ID: id}, Tier: access.Tier(c.Tier), Networks: c.Allow,
	}

	for _, s := range c.Scopes {
		r.Scopes = append(r.Scopes, access.Scope(strings.TrimSpace(s)))
	}

	if c.OwnExtension != nil {
		r.OwnExtension = uuid.NullUUID{UUID: *c.OwnExtension, Valid: true}
	}
	if c.Expires > 0 {
		r.Expires = now.Add(c.Expires)
	}

	return r
}

// issuedKey is a new key with its secret.
type issuedKey struct {
	Key string `json:"key"`
	access.Record
}

type keysListCommand struct {
	output
	Postgres setting.Postgres `embed:""`
}

// Run lists the keys.
func (c *keysListCommand) Run(ctx context.Context, streams run.Streams) error {
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		keys, err := keyRegistry(pool).List(ctx)
		if err != nil {
			return err
		}
		keys = append([]access.Record{}, keys...) // no null in JSON
		return c.print(streams.Out, keys, keysLines(keys)...)
	})
}

type keysShowCommand struct {
	output
	ID       uuid.UUID        `arg:"" help:"The key's id, from 'keys list'."`
	Postgres setting.Postgres `embed:""`
}

// Run shows a key.
func (c *keysShowCommand) Run(ctx context.Context, streams run.Streams) error {
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		key, err := keyRegistry(pool).Show(ctx, c.ID)
		if err != nil {
			return withKeyAdvice(err, c.ID)
		}
		return c.print(streams.Out, key, keyWithLineageLines(key)...)
	})
}

type keysRollCommand struct {
	output
	ID       uuid.UUID        `arg:"" help:"The old key's id, from 'keys list'."`
	Overlap  time.Duration    `default:"24h" help:"How long the old key stays valid, up to 30d. 0s ends it immediately."`
	Expires  time.Duration    `min:"1s" placeholder:"30d" help:"The new key's lifetime. Default: the one that the newest key of the lineage was issued with."`
	NATS     setting.NATS     `embed:""`
	Postgres setting.Postgres `embed:""`
	Pepper   setting.Pepper   `embed:""`
}

// rolledKey is a new key with its secret, and the key that it replaces.
type rolledKey struct {
	issuedKey
	Old access.Record `json:"rolledFrom"`
}

// Run rolls a key.
func (c *keysRollCommand) Run(ctx context.Context, streams run.Streams) error {
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		roll := access.Roll{Overlap: c.Overlap, Lifetime: c.Expires}
		rolled, err := access.NewRegistry(pool, c.Pepper.Peppers[0]).Roll(ctx, c.ID, roll)
		if err != nil {
			return withKeyAdvice(err, c.ID)
		}

		key := rolledKey{issuedKey{rolled.Key.Reveal(), rolled.Record}, rolled.Old}

		// NATS has the end, too: PostgreSQL can lose it in a failover.
		recorded := recordEnd(ctx, c.NATS, keyRegistry(pool), rolled.Old)
		if recorded != nil {
			recorded = fmt.Errorf("the key is rolled in the database, but that is not recorded in stream %s: %w\n"+
				"A failover of PostgreSQL can make the old key live longer again: "+
				"run 'callboard keys revoke %s' once the new key is in use",
				events.KeyStream, interrupted(ctx, recorded), rolled.Old.ID)
		}

		// The new key is printed in any case, because it can't be printed again.
		return errors.Join(c.printSecret(streams.Out, key, key.lines(), lostKey(key.ID)+"\n"+key.oldKey()), recorded)
	})
}

type keysRevokeCommand struct {
	output
	ID       uuid.UUID        `arg:"" help:"The key's id, from 'keys list'."`
	NATS     setting.NATS     `embed:""`
	Postgres setting.Postgres `embed:""`
}

// Run revokes a key.
func (c *keysRevokeCommand) Run(ctx context.Context, streams run.Streams) error {
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		key, err := keyRegistry(pool).Revoke(ctx, c.ID)
		if err != nil {
			return withKeyAdvice(err, c.ID)
		}

		// NATS records the revocation, too: PostgreSQL can lose it in a failover.
		if err := recordEnd(ctx, c.NATS, keyRegistry(pool), key.Record); err != nil {
			return fmt.Errorf("the key is revoked in the database, but that is not recorded in stream %s: %w\n"+
				"Run the command again. Until then the key can work again after a failover of PostgreSQL",
				events.KeyStream, interrupted(ctx, err))
		}

		return c.print(streams.Out, key, revokedLines(key)...)
	})
}

type keysAuditCommand struct {
	output
	ID       uuid.UUID        `arg:"" help:"The key's id, from 'keys list'."`
	Since    time.Duration    `min:"1s" default:"1h" help:"How far to look back, such as 90m, 24h or 7d."`
	Limit    int              `type:"count" min:"1" max:"10000" default:"1000" help:"The maximum number of requests to list, up to 10000."`
	Postgres setting.Postgres `embed:""`
}

// Run lists a key's requests. The note that the list was cut goes to standard error, since a program may read the list.
func (c *keysAuditCommand) Run(ctx context.Context, streams run.Streams) error {
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		key, err := keyRegistry(pool).Show(ctx, c.ID)
		if err != nil {
			return withKeyAdvice(err, c.ID)
		}

		since := time.Now().Add(-c.Since)
		entries, more, err := keyRegistry(pool).Audit(ctx, c.ID, since, c.Limit)
		if err != nil {
			return err
		}

		if more {
			fmt.Fprintf(streams.Err, "Only the newest %d are listed. Use --limit to list more, or a shorter --since.\n", c.Limit)
		}
		return c.print(streams.Out, entries, auditLines(since, key.Record, entries)...)
	})
}

// recordEnd records when a key ends. It connects to NATS only now: without NATS, a key can be revoked in the database.
func recordEnd(ctx context.Context, nats setting.NATS, registry *access.Registry, key access.Record) error {
	return withStream(nats, func(js jetstream.JetStream) error { return publishEnd(ctx, js, registry, key) })
}

// maxEnds limits how often an end is published that changes meanwhile.
const maxEnds = 10

// publishEnd publishes when a key ends, until the database says the same afterwards. That has two reasons. Another
// command may have ended the key earlier, and its entry must not be replaced by this one. And the database may have
// failed over to a standby that lacks the end, after the projector had read the journal.
func publishEnd(ctx context.Context, js jetstream.JetStream, registry *access.Registry, key access.Record) error {
	end := events.KeyEnd{ID: key.ID, RevokedAt: key.RevokedAt, ExpiresAt: key.ExpiresAt}

	for range maxEnds {
		if err := events.PublishKeyEnd(ctx, js, end); err != nil {
			return err
		}

		// The database may have an earlier end, from another command. The next round publishes that end.
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
