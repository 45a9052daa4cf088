package sender

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/webhook"
	"callboard/projector/webhook/egress"
)

// trial is a test that an operator asks for.
type trial struct {
	id       uuid.UUID
	endpoint uuid.UUID // also of one that is not registered yet
	url      string
	kind     webhook.Kind
	secrets  []sealedSecret
}

//go:embed take_trial.sql
var takeTrialSQL string

const finishTrialSQL = "update webhook.test set outcome = $2 where id = $1"

// try takes a test that an operator asks for, and runs it in the background.
func (s *Sender) try(ctx context.Context) (more bool, err error) {
	var t trial
	err = s.config.Database.QueryRow(ctx, takeTrialSQL).Scan(&t.id, &t.endpoint, &t.url, &t.kind, &t.secrets)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	}
	s.trials.Go(func() { s.runTrial(context.WithoutCancel(ctx), t) })
	return true, nil
}

// runTrial sends a test and stores its outcome. It counts for nothing else.
func (s *Sender) runTrial(ctx context.Context, t trial) {
	began := time.Now()
	answer := egress.Answer{}

	// An error is an outcome, too: the operator waits for it.
	secrets, err := openSecrets(s.config.Vault, t.endpoint, t.secrets)
	if err != nil {
		answer.Err = fmt.Errorf("sender: %w", err)
	} else if connection, err := s.config.Client.Connect(t.url, 1); err != nil {
		answer.Err = err
	} else {
		answer = post(ctx, connection, secrets, trialEvent(t.kind, began))
		connection.Close()
	}

	ctx, cancel := context.WithTimeout(ctx, recordWithin)
	defer cancel()
	if _, err = s.config.Database.Exec(ctx, finishTrialSQL, t.id, attempt(answer, began, time.Now())); err != nil {
		s.config.Log.Error().Err(err).Stringer("test", t.id).Msg("storing the outcome of a webhook test failed")
	}
}

// trialEvent returns an event of a kind with random identifiers.
func trialEvent(kind webhook.Kind, at time.Time) webhook.Event {
	e := webhook.Event{ID: webhook.ID(kind, uuid.New(), "test", 0), Type: kind, Timestamp: at}
	if kind == webhook.Test {
		return e
	}

	hex := strings.ReplaceAll(uuid.NewString(), "-", "")
	e.Data.PhoneSystemID, e.Data.CallSid = uuid.New(), "CA"+hex

	switch kind {
	case webhook.Test, webhook.CallEnded: // nothing more

	case webhook.RecordingAvailable:
		e.Data.RecordingSid = "RE" + hex
	case webhook.TranscriptionCompleted, webhook.AnalysisCompleted:
		e.Data.CallLogID = uuid.New()
	case webhook.VoicemailCreated:
		e.Data.VoicemailID = uuid.New()
	}

	return e
}
