package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/webhook"
	"callboard/projector/webhook/vault"
)

// maxOverlap bounds the time in which two secrets sign.
const maxOverlap = 30 * 24 * time.Hour

// maxSecrets bounds the signatures of a request. Receivers compare 16 at most.
const maxSecrets = 10

const (
	expireSecretsSQL = `
		update webhook.secret
		set expires_at = least(expires_at, now() + $2::interval)
		where endpoint_id = $1
		  and (expires_at is null or expires_at > now())`

	countSecretsSQL = `select count(*) from webhook.secret where endpoint_id = $1 and (expires_at is null or expires_at > now())`
)

// rotation is the audit's state after a rotation.
type rotation struct {
	Secret  uuid.UUID `json:"secret"` // its id
	Overlap string    `json:"overlap"`
}

// Rotate gives an endpoint a new secret, sealed by the vault. The former ones expire after the overlap, and at once if it is zero.
func (r *Registry) Rotate(ctx context.Context, id uuid.UUID, overlap time.Duration, v *vault.Vault) (webhook.Secret, error) {
	if overlap < 0 || overlap > maxOverlap {
		return webhook.Secret{}, &InvalidError{fmt.Sprintf("the overlap must be from 0s to %gh", maxOverlap.Hours())}
	}
	plain, secret := webhook.NewSecret(), uuid.New()
	sealed := v.Seal(id, secret, []byte(plain.Reveal()))
	err := r.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := lockUnlessRemoved(ctx, tx, id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, expireSecretsSQL, id, overlap); err != nil {
			return fmt.Errorf("expire secrets: %w", err)
		}
		var valid int
		if err := tx.QueryRow(ctx, countSecretsSQL, id).Scan(&valid); err != nil {
			return fmt.Errorf("count secrets: %w", err)
		}
		if valid >= maxSecrets {
			return fmt.Errorf("rotate secret: %d secrets are valid already: wait until some have expired, or use --overlap 0s", valid)
		}
		if _, err := tx.Exec(ctx, insertSecretSQL, secret, id, sealed.Data, sealed.KeyID); err != nil {
			return fmt.Errorf("rotate secret: %w", err)
		}
		return r.record(ctx, tx, "rotate", id, nil, rotation{secret, overlap.String()})
	})
	if err != nil {
		return webhook.Secret{}, err
	}
	return plain, nil
}
