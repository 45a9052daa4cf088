package ingest

import (
	"context"

	"callboard/projector/store"
)

// retryBatch is how many dead letters are tried again in one transaction.
const retryBatch = 100

// Retry applies the partition's dead letters that somebody wants to be tried again.
func (a *Applier) RetryDeadLetters(ctx context.Context) error {
	limit, refusal := retryBatch, ""
	for {
		found, err := a.retrySome(ctx, limit, refusal)
		switch {
		case err == nil && found == 0:
			return nil
		case err == nil:
			limit, refusal = retryBatch, ""
		case !store.IsDataError(err) || refusal != "":
			return err
		case limit > 1:
			limit = 1 // the one at fault comes to be alone
		default:
			refusal = store.DataErrorReason(err)
		}
	}
}

// retrySome tries up to limit dead letters. A refusal is why Postgres refused the first of them.
func (a *Applier) retrySome(ctx context.Context, limit int, refusal string) (found int, err error) {
	var change store.ChangeSet
	err = a.Store.BeginFunc(ctx, func(tx *store.Tx) error {
		retries, err := tx.RequestedRetries(ctx, a.Position, limit)
		if found = len(retries); err != nil || found == 0 {
			return err
		}
		items := a.Reader.retries(retries)
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
