package access

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// maxOverlap bounds the time in which two keys with the same rights are live.
const maxOverlap = 30 * 24 * time.Hour

// Roll describes how a key is replaced by a new key of its lineage.
type Roll struct {
	Overlap  time.Duration // how long the old key stays live, 30 days at most; zero: it ends immediately
	Lifetime time.Duration // how long the new key is live; zero: the lifetime of the newest key of the lineage
}

// RolledKey is the new key that replaces an old one. Its secret can be shown only now.
type RolledKey struct {
	IssuedKey
	Old Record // after the roll
}

// RollError is returned for a key that cannot be rolled.
type RollError struct {
	State     State     // of the key
	Successor uuid.UUID // the live key that it was rolled into, if that is the reason
}

func (e *RollError) Error() string {
	if e.Successor != uuid.Nil {
		return fmt.Sprintf("the key was rolled already: roll its successor %s", e.Successor)
	}
	return fmt.Sprintf("the key is %s and cannot be rolled: issue a new one", e.State)
}

func (r Roll) validate() error {
	var problems []string
	if r.Overlap < 0 || r.Overlap > maxOverlap {
		problems = append(problems, fmt.Sprintf("the overlap is not between 0s and %gh", maxOverlap.Hours()))
	}
	if r.Lifetime < 0 {
		problems = append(problems, "the expiry is not in the future")
	}
	if len(problems) > 0 {
		return &InvalidError{Problems: problems}
	}
	return nil
}

//go:embed lock_lineage.sql
var lockLineageSQL string

//go:embed roll_key.sql
var rollKeySQL string

// Roll replaces a key by a new key of the same lineage with the same rights. The old key ends after the overlap, or at
// its own expiry if that is earlier. The error is a [*InvalidError] if the roll is invalid, and [ErrUnknownKey] if no
// key has the id. It is a [*RollError] if the key is not live or was rolled into a key that is live.
func (g *Registry) Roll(ctx context.Context, id uuid.UUID, r Roll) (RolledKey, error) {
	if err := r.validate(); err != nil {
		return RolledKey{}, err
	}
	if g.pepper.secret == nil {
		return RolledKey{}, errPepper
	}

	var rolled RolledKey
	err := g.write(ctx, func(tx pgx.Tx) (err error) {
		rolled, err = g.roll(ctx, tx, id, r)
		return err
	})
	if err != nil {
		return RolledKey{}, err
	}
	return rolled, nil
}

func (g *Registry) roll(ctx context.Context, tx pgx.Tx, id uuid.UUID, r Roll) (RolledKey, error) {
	// The reads after the lock see what the previous holder of the lock has committed.
	if _, err := tx.Exec(ctx, lockLineageSQL, id); err != nil {
		return RolledKey{}, fmt.Errorf("lock lineage: %w", err)
	}

	old, err := show(ctx, tx, id)
	if err != nil {
		return RolledKey{}, err
	}
	if err := old.rollable(); err != nil {
		return RolledKey{}, err
	}

	// The statement ends the old key and copies it.
	key, newID := NewKey(), uuid.New()
	_, err = tx.Exec(ctx, rollKeySQL, id, newID, key.Short(), g.pepper.hash(key), g.pepper.id, r.Overlap, r.lifetime(old))
	if err != nil {
		return RolledKey{}, fmt.Errorf("roll key: %w", err)
	}

	// Both records are read as the roll has left them.
	if old, err = show(ctx, tx, id); err != nil {
		return RolledKey{}, err
	}
	issued, err := show(ctx, tx, newID)
	return RolledKey{IssuedKey: IssuedKey{Record: issued.Record, Key: key}, Old: old.Record}, err
}

func (k KeyWithLineage) rollable() error {
	if k.State != StateActive {
		return &RollError{State: k.State}
	}
	if successor := k.Successor(); successor != nil {
		return &RollError{State: k.State, Successor: successor.ID}
	}
	return nil
}

// lifetime returns how long the new key is live, nil for a key without an expiry. It is taken from the newest key of
// the lineage, because a roll has shortened the others.
func (r Roll) lifetime(old KeyWithLineage) *time.Duration {
	if r.Lifetime > 0 {
		return &r.Lifetime
	}
	newest := old.LineageKeys[0]
	if newest.ExpiresAt == nil {
		return nil
	}
	return new(newest.ExpiresAt.Sub(newest.CreatedAt))
}
