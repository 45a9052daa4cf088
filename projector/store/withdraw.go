package store

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

//go:embed withdraw_keys.sql
var withdrawKeysSQL string

// commitDurablySQL makes the commit of a transaction wait until it is on the disk, and on that of a synchronous
// standby.
const commitDurablySQL = "select control.commit_durably()"

// Withdrawal is the end of a key. A nil time ends nothing.
type Withdrawal struct {
	Key                  uuid.UUID
	RevokedAt, ExpiresAt *time.Time
}

// Withdraw ends keys, and returns those that would have lived longer. A key never lives longer than before, and
// unknown keys are left out.
func (s *Store) Withdraw(ctx context.Context, list []Withdrawal) (changed []uuid.UUID, err error) {
	keys, revoked, expires := make([]uuid.UUID, len(list)), make([]*time.Time, len(list)), make([]*time.Time, len(list))
	for i, w := range list {
		keys[i], revoked[i], expires[i] = w.Key, w.RevokedAt, w.ExpiresAt
	}

	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		// A key that has ended must not work again after a failover.
		if _, err := tx.Exec(ctx, commitDurablySQL); err != nil {
			return err
		}

		rows, _ := tx.Query(ctx, withdrawKeysSQL, keys, revoked, expires)
		changed, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("withdraw keys: %w", err)
	}
	return changed, nil
}
