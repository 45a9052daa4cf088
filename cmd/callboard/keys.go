package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/readapi/access"
)

type keysCommand struct {
	Issue  keysIssueCommand  `cmd:"" help:"Issue a key and show it, once."`
	List   keysListCommand   `cmd:"" help:"List all keys, newest first."`
	Show   keysShowCommand   `cmd:"" help:"Show one key's rights and state."`
	Revoke keysRevokeCommand `cmd:"" help:"End a key: the next request with it is refused."`
}

// registry is the registry of keys, for commands that issue none.
func registry(pool *pgxpool.Pool) *access.Registry { return access.NewRegistry(pool, access.Pepper{}) }

type keysListCommand struct {
	output
	Postgres setting.Postgres `embed:""`
}

// Run lists the keys.
func (c *keysListCommand) Run(ctx context.Context, streams process.Streams) error {
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		keys, err := registry(pool).List(ctx)
		if err != nil {
			return err
		}
		if keys == nil {
			keys = []access.Record{}
		}
		return c.print(streams.Out, keys, func(w io.Writer) error { return writeKeys(w, keys) })
	})
}

func writeKeys(w io.Writer, keys []access.Record) error {
	if len(keys) == 0 {
		_, err := fmt.Fprintln(w, "No keys. 'callboard keys issue' makes one.")
		return err
	}
	rows := [][]string{{"ID", "NAME", "STATE", "GRANT", "SCOPES", "CREATED"}}
	for _, k := range keys {
		rows = append(rows, []string{
			k.ID.String(), k.Name, string(k.State), grant(k.Grant), scopes(k.Scopes), instant(k.CreatedAt),
		})
	}
	return table(w, rows)
}

type keysShowCommand struct {
	output
	ID       uuid.UUID        `arg:"" help:"The key's id, from 'keys list'."`
	Postgres setting.Postgres `embed:""`
}

// Run shows a key.
func (c *keysShowCommand) Run(ctx context.Context, streams process.Streams) error {
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		key, err := registry(pool).Show(ctx, c.ID)
		if err != nil {
			return unknown(err, c.ID)
		}
		return c.print(streams.Out, key, func(w io.Writer) error { return writeKey(w, key) })
	})
}

func writeKey(w io.Writer, k access.Record) error {
	rows := [][]string{
		{"id", k.ID.String()},
		{"name", k.Name},
		{"state", string(k.State)},
		{"key", "sk_phones_" + k.Short + "_..."},
		{"grant", grant(k.Grant)},
		{"scopes", scopes(k.Scopes)},
		{"tier", string(k.Tier)},
		{"created", instant(k.CreatedAt)},
	}
	if k.OwnExtension.Valid {
		rows = append(rows, []string{"own calls of", "extension " + k.OwnExtension.UUID.String()})
	}
	if len(k.Networks) > 0 {
		rows = append(rows, []string{"allowed from", join(k.Networks)})
	}
	if k.ExpiresAt != nil {
		rows = append(rows, []string{"expires", instant(*k.ExpiresAt)})
	}
	if k.RevokedAt != nil {
		rows = append(rows, []string{"revoked", instant(*k.RevokedAt)})
	}
	return table(w, rows)
}

type keysRevokeCommand struct {
	output
	ID       uuid.UUID        `arg:"" help:"The key's id, from 'keys list'."`
	Postgres setting.Postgres `embed:""`
}

// Run revokes a key.
func (c *keysRevokeCommand) Run(ctx context.Context, streams process.Streams) error {
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		if err := registry(pool).Revoke(ctx, c.ID); err != nil {
			return unknown(err, c.ID)
		}
		key, err := registry(pool).Show(ctx, c.ID)
		if err != nil {
			return err
		}
		return c.print(streams.Out, key, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "Key %s %q is revoked.\n", key.ID, key.Name)
			return err
		})
	})
}

func unknown(err error, id uuid.UUID) error {
	if errors.Is(err, access.ErrUnknownKey) {
		return fmt.Errorf("no key has the id %s; 'callboard keys list' shows those there are", id)
	}
	return err
}

func grant(g access.Grant) string { return string(g.Kind) + " " + g.ID.String() }

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func scopes(list []access.Scope) string {
	if len(list) == len(access.Scopes()) {
		return "all"
	}
	return scopeNames(list, ",")
}

func join[T fmt.Stringer](list []T) string {
	texts := make([]string, 0, len(list))
	for _, v := range list {
		texts = append(texts, v.String())
	}
	return strings.Join(texts, ",")
}
