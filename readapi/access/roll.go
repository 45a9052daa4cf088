package access

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// maxOverlap keeps an overlap short: two keys that open the same are a risk for as long as both do.
const maxOverlap = 30 * 24 * time.Hour

// Roll is how a key is replaced by another of its lineage.
type Roll struct {
	Overlap  time.Duration // how long the old key is still accepted, 30 days at most; zero: no longer
	Lifetime time.Duration // how long the new key lives; zero: as long as the newest of the lineage was issued for
}

// RolledKey is the key that replaces another, at the one moment when it can be shown.
type RolledKey struct {
	IssuedKey
	Old Record // as it is from now on
}

// RollError is a key that can't be rolled.
type RollError struct {
	State     State     // of the key
	Successor uuid.UUID // the live key that it was rolled into, where that is the reason
}

// Error is the reason, and what to do.
func (e *RollError) Error() string {
	if e.Successor != uuid.Nil {
		return fmt.Sprintf("the key was rolled already: roll the key that it was rolled into, %s", e.Successor)
	}
	return fmt.Sprintf("the key is %s, and can't be rolled: issue a new one", e.State)
}

func (r Roll) validate() error {
	var problems []string
	if r.Overlap < 0 || r.Overlap > maxOverlap {
		problems = append(problems, fmt.Sprintf("an overlap is between 0s and %gh", maxOverlap.Hours()))
	}
	if r.Lifetime < 0 {
		problems = append(problems, "the expiry is not in the future")
	}
	if len(problems) > 0 {
		return &RequestError{Problems: problems}
	}
	return nil
}

//go:embed lock_lineage.sql
var lockLineageSQL string

//go:embed roll_key.sql
var rollKeySQL string

// Roll replaces a key by a new one with the same rights and of the same lineage, and lets the old one end after the overlap, or
// when it would have, if that is sooner. The error is a [*RequestError] where the roll is none, [ErrUnknownKey] where there is no
// key of that id, and a [*RollError] where the key is not live, or where one that it was rolled into is.
func (g *Registry) Roll(ctx context.Context, id uuid.UUID, r Roll) (RolledKey, error) {
	if err := r.validate(); err != nil {
		return RolledKey{}, err
	}
	if g.pepper.secret == nil {
		return RolledKey{}, errPepper
	}
	var rolled RolledKey
	// What is read after the lock must be what the one before has left.
	options := pgx.TxOptions{IsoLevel: pgx.ReadCommitted}
	err := pgx.BeginTxFunc(ctx, g.pool, options, func(tx pgx.Tx) (err error) {
		rolled, err = g.roll(ctx, tx, id, r)
		return err
	})
	if err != nil {
		return RolledKey{}, err
	}
	return rolled, nil
}

func (g *Registry) roll(ctx context.Context, tx pgx.Tx, id uuid.UUID, r Roll) (RolledKey, error) {
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
	key, newID := NewKey(), uuid.New()
	_, err = tx.Exec(ctx, rollKeySQL, id, newID, key.Short(), g.pepper.hash(key), g.pepper.id, r.Overlap, r.life(old))
	if err != nil {
		return RolledKey{}, fmt.Errorf("roll key: %w", err)
	}
	if old, err = show(ctx, tx, id); err != nil {
		return RolledKey{}, err
	}
	issued, err := show(ctx, tx, newID)
	return RolledKey{IssuedKey: IssuedKey{Record: issued.Record, Key: key}, Old: old.Record}, err
}

func (f KeyWithLineage) rollable() error {
	if f.State != StateActive {
		return &RollError{State: f.State}
	}
	if successor := f.Successor(); successor != nil {
		return &RollError{State: f.State, Successor: successor.ID}
	}
	return nil
}

// life is how long the new key lives, nil for ever. The newest of a lineage is the one whose end no roll has moved.
func (r Roll) life(old KeyWithLineage) *time.Duration {
	if r.Lifetime > 0 {
		return &r.Lifetime
	}
	newest := old.LineageKeys[0]
	if newest.ExpiresAt == nil {
		return nil
	}
	life := newest.ExpiresAt.Sub(newest.CreatedAt)
	return &life
}
