package registry_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/events/webhook"
	"callboard/projector/webhook/registry"
)

// answerTests answers the next test as a sender does, and calls check with its endpoint.
func (h *harness) answerTests(status int, check func(endpoint uuid.UUID)) (wait func()) {
	h.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var id uuid.UUID
		eventstest.Eventually(h.T, "there is a test", func() bool {
			err := h.Super.QueryRow(context.Background(), "update webhook.test set taken_at = now() returning endpoint_id").Scan(&id)
			return err == nil
		})
		check(id)
		_, err := h.Super.Exec(context.Background(),
			"update webhook.test set outcome = jsonb_build_object('status', $1::int, 'error', case when $1::int <> 200 then 'not 2xx' end, 'ms', 12)", status)
		if err != nil {
			h.Error(err)
		}
	}()
	return func() { <-done }
}

func TestTry(t *testing.T) {
	h := newHarness(t)
	id := h.register(0)
	for _, status := range []int{200, 500} {
		wait := h.answerTests(status, func(uuid.UUID) {
			h.Want("test", "call.ended "+url+" "+id.String(), "select concat_ws(' ', kind, url, endpoint_id) from webhook.test")
		})
		trial, err := h.Try(t.Context(), id, webhook.CallEnded)
		wait()
		if err != nil || *trial.Status != status || *trial.MS != 12 || trial.OK() != (status == 200) {
			t.Errorf("trial = %+v, %v, want status %d", trial, err, status)
		}
		h.Want("tests left", "0", "select count(*) from webhook.test")
	}
}

// The test of a candidate has what a sender needs to sign it.
func TestTryCandidate(t *testing.T) {
	h := newHarness(t)
	c := h.candidate(registry.Target{Kind: registry.System, ID: h.system})
	wait := h.answerTests(200, func(id uuid.UUID) {
		var sealed webhook.Sealed
		err := h.Super.QueryRow(context.Background(), "select secrets->0 from webhook.test").Scan(&sealed)
		if err != nil {
			t.Error(err)
		}
		if plain, err := h.vault.Open(id, sealed); err != nil || string(plain) != c.Secret().Reveal() || id != c.ID() {
			t.Errorf("opened secret differs, error %v", err)
		}
	})
	trial, err := h.TryCandidate(t.Context(), c)
	wait()
	if err != nil || !trial.OK() {
		t.Errorf("trial = %+v, %v, want success", trial, err)
	}
	h.Want("endpoints", "0", "select count(*) from webhook.endpoint")
}

func TestTry_Interrupted(t *testing.T) {
	h := newHarness(t)
	id := h.register(0)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := h.Try(ctx, id, webhook.Test); err == nil {
		t.Error("error = nil, want one")
	}
	h.Want("tests left", "0", "select count(*) from webhook.test")
}
