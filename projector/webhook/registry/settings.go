package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/webhook"
)

// The limits of an endpoint's requests at once.
const (
	minConcurrency = 1
	maxConcurrency = 64
)

const maxNameBytes = 200

// settings are an endpoint's row as operators change it and as the audit has it.
type settings struct {
	Name        string         `json:"name"`
	URL         string         `json:"url"`
	Target      Target         `json:"grant"`
	Kinds       []webhook.Kind `json:"kinds"`
	Concurrency int            `json:"concurrency"`
	State       State          `json:"state"`
	Reason      *string        `json:"reason,omitempty"`
	stoppedAt   *time.Time
}

// audited returns the settings without the URL's query.
func (s settings) audited() settings {
	s.URL = redactURL(s.URL)
	return s
}

func (s settings) validate() error {
	switch {
	case strings.TrimSpace(s.Name) == "" || len(s.Name) > maxNameBytes || !utf8.ValidString(s.Name) || strings.ContainsRune(s.Name, 0):
		return &InvalidError{fmt.Sprintf("the name must have from 1 to %d bytes", maxNameBytes)}
	case s.Concurrency < minConcurrency || s.Concurrency > maxConcurrency:
		return &InvalidError{fmt.Sprintf("the concurrency must be from %d to %d", minConcurrency, maxConcurrency)}
	case len(s.Kinds) == 0:
		return &InvalidError{"at least one kind of event is needed"}
	case s.Target.ID == uuid.Nil:
		return &InvalidError{"a target is needed: name a phone system, a group or an organization by its UUID"}
	}
	return nil
}

const lockEndpointSQL = `
	select name, url, kinds, grant_kind, grant_id, concurrency, state, reason, stopped_at
	from webhook.endpoint
	where id = $1
	for no key update`

// lock locks an endpoint's row until the transaction ends. The error is [ErrUnknownEndpoint] if none has the id.
func lock(ctx context.Context, tx pgx.Tx, id uuid.UUID) (settings, error) {
	var s settings
	err := tx.QueryRow(ctx, lockEndpointSQL, id).Scan(
		&s.Name, &s.URL, &s.Kinds, &s.Target.Kind, &s.Target.ID, &s.Concurrency, &s.State, &s.Reason, &s.stoppedAt,
	)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return s, ErrUnknownEndpoint
	case err != nil:
		return s, fmt.Errorf("lock webhook endpoint: %w", err)
	}
	return s, nil
}

// lockUnlessRemoved is like lock. The error is a [*StateError] if the endpoint was removed.
func lockUnlessRemoved(ctx context.Context, tx pgx.Tx, id uuid.UUID) (settings, error) {
	s, err := lock(ctx, tx, id)
	if err == nil && s.State == Removed {
		err = &StateError{id, s.State, "add another one"}
	}
	return s, err
}

// Changes are the new settings of an endpoint; nil: unchanged.
type Changes struct {
	Name        *string
	URL         *string // checked
	Kinds       []webhook.Kind
	Concurrency *int
}

const setSQL = `update webhook.endpoint set name = $2, url = $3, kinds = $4, concurrency = $5 where id = $1`

// Set changes settings of an endpoint. Events that wait are sent with the new ones, whatever their kind is.
func (r *Registry) Set(ctx context.Context, id uuid.UUID, c Changes) error {
	return r.inTx(ctx, func(tx pgx.Tx) error {
		before, err := lockUnlessRemoved(ctx, tx, id)
		if err != nil {
			return err
		}
		after := before.with(c)
		if err := after.validate(); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, setSQL, id, after.Name, after.URL, after.Kinds, after.Concurrency); err != nil {
			return fmt.Errorf("set webhook endpoint: %w", err)
		}
		return r.record(ctx, tx, "set", id, before.audited(), after.audited())
	})
}

func (s settings) with(c Changes) settings {
	if c.Name != nil {
		s.Name = strings.TrimSpace(*c.Name)
	}
	if c.URL != nil {
		s.URL = *c.URL
	}
	if c.Kinds != nil {
		s.Kinds = c.Kinds
	}
	if c.Concurrency != nil {
		s.Concurrency = *c.Concurrency
	}
	return s
}
