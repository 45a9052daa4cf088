package intake

import (
	"context"

	"callboard/projector/store"
)

// retryBatch is how many dead letters are tried again in one transaction.
const retryBatch = 100

// Retry applies the partition's dead letters that somebody wants to be tried again.
func (a *Applier) Retry(ctx context.Context) error {
	limit, refusal := retryBatch, ""
	for {
		found, err := a.retrySome(ctx, limit, refusal)
		switch {
		case err == nil && found == 0:
			return nil
		case err == nil:
			limit, refusal = retryBatch, ""
		case !store.Refused(err) || refusal != "":
			return err
		case limit > 1:
			limit = 1 // the one at fault comes to be alone
		default:
			refusal = store.Reason(err)
		}
	}
}

// retrySome tries up to limit dead letters. A refusal is why Postgres refused the first of them.
func (a *Applier) retrySome(ctx context.Context, limit int, refusal string) (found int, err error) {
	var change store.Commit
	err = a.Store.Batch(ctx, func(tx *store.Tx) error {
		retries, err := tx.Requested(ctx, a.Position, limit)
		if found = len(retries); err != nil || found == 0 {
			return err
		}
		items := a.Reader.again(retries)
		if refusal != "" {
			items[0].Reason = refusal
		}
		items = items[:bodiesThatFit(items)]
		if err := fetchBodies(ctx, a.JetStream, items); err != nil {
			return err
		}
		change, err = a.write(ctx, tx, items)
		return err
	})
	if err != nil || found == 0 {
		return 0, err
	}
	a.committed(change)
	return found, nil
}
