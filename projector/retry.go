package projector

import (
	"context"

	"callboard/projector/intake"
	"callboard/projector/store"
)

// retryBatch is how many dead letters are tried again in one transaction.
const retryBatch = 100

// retry applies the dead letters of the partition that somebody wants to be tried again.
func (p *partition) retry(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
	defer cancel()
	limit, refusal := retryBatch, ""
	for {
		found, err := p.retrySome(ctx, limit, refusal)
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
func (p *partition) retrySome(ctx context.Context, limit int, refusal string) (found int, err error) {
	var change store.Commit
	err = p.store.Batch(ctx, func(tx *store.Tx) error {
		retries, err := tx.Requested(ctx, p.position, limit)
		if found = len(retries); err != nil || found == 0 {
			return err
		}
		items := intake.Again(retries)
		if refusal != "" {
			items[0].Reason = refusal
		}
		items = items[:intake.BodiesThatFit(items)]
		if err := intake.FetchBodies(ctx, p.config.JetStream, items); err != nil {
			return err
		}
		change, err = p.write(ctx, tx, items)
		return err
	})
	if err != nil || found == 0 {
		return 0, err
	}
	p.committed(change)
	return found, nil
}
