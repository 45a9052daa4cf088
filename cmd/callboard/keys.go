package main

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/process"
	"callboard/readapi/access"
)

type keysCommand struct {
	Issue  keysIssueCommand  `cmd:"" help:"Issue a key and show it, once."`
	List   keysListCommand   `cmd:"" help:"List all keys, newest first."`
	Show   keysShowCommand   `cmd:"" help:"Show one key's rights, state and last use, and the other keys of its lineage."`
	Roll   keysRollCommand   `cmd:"" help:"Replace a key by a new one with the same rights and show it, once. The old one ends soon after."`
	Revoke keysRevokeCommand `cmd:"" help:"End a key: the next request with it is refused."`
	Audit  keysAuditCommand  `cmd:"" help:"List a key's requests, newest first. The other keys of its lineage have theirs; 'keys show' names them."`
}

// registry is the registry of keys, for commands that issue none.
func registry(pool *pgxpool.Pool) *access.Registry { return access.NewRegistry(pool, access.Pepper{}) }

func unknown(err error, id uuid.UUID) error {
	if errors.Is(err, access.ErrUnknownKey) {
		return fmt.Errorf("no key has the id %s; 'callboard keys list' shows those there are", id)
	}
	return err
}

// misused is an error as one of usage, where what was asked for can't be.
func misused(err error) error {
	var invalid *access.RequestError
	if errors.As(err, &invalid) {
		return &process.UsageError{Detail: err.Error()}
	}
	return err
}
