package webhook

import (
	"context"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/webhook"
	"callboard/projector/retry"
	"callboard/projector/webhook/egress"
	"callboard/projector/webhook/vault"
)

// maxTrials bounds the tests that run at once.
const maxTrials = 16

// trial is a test that an operator asks for.
type trial struct {
	id       uuid.UUID
	endpoint uuid.UUID // also of one that is not registered yet
	url      string
	kind     webhook.Kind
	sealed   []sealedSecret
}

//go:embed take_trial.sql
var takeTrialSQL string

const finishTrialSQL = "update webhook.test set done_at = now(), status = $2, error = $3, answer = $4, ms = $5 where id = $1"

// try runs the tests that operators ask for, until ctx ends.
func (s *Sender) try(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	free := make(chan struct{}, maxTrials)
	for backOff := retry.NewBackOff(); ctx.Err() == nil; {
		t, err := s.takeTrial(ctx)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			backOff.Reset()
			retry.Pause(ctx, s.config.Poll)
		case err != nil:
			if ctx.Err() == nil {
				s.config.Log.Error().Err(err).Msg("taking a webhook test failed")
			}
			retry.Pause(ctx, backOff.Next(0))
		default:
			backOff.Reset()
			free <- struct{}{}
			running.Go(func() {
				s.runTrial(ctx, t)
				<-free
			})
		}
	}
}

func (s *Sender) takeTrial(ctx context.Context) (t trial, err error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	var ids []uuid.UUID
	var sealed [][]byte
	var keys []string
	if err := s.config.Database.QueryRow(ctx, takeTrialSQL).Scan(&t.id, &t.endpoint, &t.url, &t.kind, &ids, &sealed, &keys); err != nil {
		return t, err
	}
	for i, id := range ids {
		t.sealed = append(t.sealed, sealedSecret{id, vault.Sealed{KeyID: keys[i], Data: sealed[i]}})
	}
	return t, nil
}

// runTrial sends a test and stores its outcome. It counts for nothing else.
func (s *Sender) runTrial(ctx context.Context, t trial) {
	began := time.Now()
	answer := s.sendTrial(ctx, t)
	ms := int32(time.Since(began).Milliseconds())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	_, err := s.config.Database.Exec(ctx, finishTrialSQL, t.id, statusOf(answer.Status), text(failure(answer)), text(answer.Excerpt), ms)
	if err != nil {
		s.config.Log.Error().Err(err).Stringer("test", t.id).Msg("storing the outcome of a webhook test failed")
	}
}

func (s *Sender) sendTrial(ctx context.Context, t trial) egress.Answer {
	secrets, err := openSecrets(s.config.Vault, t.endpoint, t.sealed)
	if err != nil {
		return egress.Answer{Err: fmt.Errorf("sender: %w", err)}
	}
	connection, err := s.config.Client.Connect(t.url, 1)
	if err != nil {
		return egress.Answer{Err: err}
	}
	defer connection.Close()
	return post(ctx, connection, secrets, trialEvent(t.kind, time.Now()))
}

// trialEvent returns an event of a kind with random identifiers.
func trialEvent(kind webhook.Kind, at time.Time) webhook.Event {
	e := webhook.Event{ID: webhook.ID(kind, uuid.New(), "test", 0), Type: kind, Timestamp: at}
	if kind == webhook.Test {
		return e
	}
	e.Data.PhoneSystemID, e.Data.CallSid = uuid.New(), "CA"+hexID()
	switch kind {
	case webhook.Test, webhook.CallEnded: // nothing more
	case webhook.RecordingAvailable:
		e.Data.RecordingSid = "RE" + hexID()
	case webhook.TranscriptionCompleted, webhook.AnalysisCompleted:
		e.Data.CallLogID = uuid.New()
	case webhook.VoicemailCreated:
		e.Data.VoicemailID = uuid.New()
	}
	return e
}

// hexID returns 32 hexadecimal digits.
func hexID() string {
	id := uuid.New()
	return hex.EncodeToString(id[:])
}
