package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/webhook"
)

const (
	trialTimeout  = 20 * time.Second
	trialInterval = 100 * time.Millisecond
)

// Trial is the outcome of a test: one request that a sender made.
type Trial struct {
	Status *int    `json:"status"` // nil: no answer
	Error  *string `json:"error"`  // nil: answered 2xx
	Answer *string `json:"answer"` // the beginning of a failed answer
	MS     *int    `json:"ms"`
}

// OK reports whether the request was answered 2xx.
func (t Trial) OK() bool {
	return t.Error == nil && t.Status != nil && *t.Status >= 200 && *t.Status < 300
}

// The reasons for which a test has no outcome.
var (
	ErrNoSender   = errors.New("no sender took the test within 20 s: start the program webhooks")
	ErrUnfinished = errors.New("the test has no outcome after 20 s: the sender still waits for an answer, or has ended")
)

const (
	insertTrialSQL = `insert into webhook.test (id, endpoint_id, url, kind, secrets) values ($1, $2, $3, $4, $5)`

	trialSQL = `select taken_at is not null, outcome from webhook.test where id = $1`

	deleteTrialSQL = `delete from webhook.test where id = $1`
)

// Try has a sender send one test of a kind to an endpoint, and waits for the outcome.
func (r *Registry) Try(ctx context.Context, id uuid.UUID, kind webhook.Kind) (Trial, error) {
	trial := uuid.New()
	err := r.change(ctx, id, func(tx pgx.Tx, before settings) error {
		_, err := tx.Exec(ctx, insertTrialSQL, trial, id, before.URL, kind, before.secrets)
		return err
	})
	if err != nil {
		return Trial{}, err
	}
	return r.awaitTrial(ctx, trial)
}

// TryCandidate is Try for an endpoint that is not registered yet.
func (r *Registry) TryCandidate(ctx context.Context, c Candidate) (Trial, error) {
	trial := uuid.New()
	_, err := r.pool.Exec(ctx, insertTrialSQL, trial, c.id, c.settings.URL, webhook.Test, []webhook.Sealed{c.sealed})
	if err != nil {
		return Trial{}, fmt.Errorf("ask for a test: %w", err)
	}
	return r.awaitTrial(ctx, trial)
}

// awaitTrial waits for the outcome and deletes the test, also where ctx ends.
func (r *Registry) awaitTrial(ctx context.Context, id uuid.UUID) (_ Trial, err error) {
	// The caller's context may have ended, but no test may stay in the table.
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, deleteErr := r.pool.Exec(ctx, deleteTrialSQL, id)
		err = errors.Join(err, deleteErr)
	}()

	deadline := time.Now().Add(trialTimeout)
	poll := time.NewTicker(trialInterval)
	defer poll.Stop()

	for {
		var taken bool
		var done *Trial
		err := r.pool.QueryRow(ctx, trialSQL, id).Scan(&taken, &done)
		switch {
		case err != nil:
			return Trial{}, fmt.Errorf("outcome of the test: %w", err)
		case done != nil:
			return *done, nil

		case time.Now().After(deadline) && taken:
			return Trial{}, ErrUnfinished
		case time.Now().After(deadline):
			return Trial{}, ErrNoSender
		}

		select {
		case <-ctx.Done():
			return Trial{}, ctx.Err()
		case <-poll.C:
		}
	}
}
