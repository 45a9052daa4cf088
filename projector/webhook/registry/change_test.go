package registry_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/events/webhook"
	"callboard/projector/webhook/registry"
)

func TestPause_AndResume(t *testing.T) {
	h := newHarness(t)
	id := h.register(0)
	h.deliver(id, 1, 3)
	h.Must(h.Pause(t.Context(), id))
	h.Must(h.Pause(t.Context(), id))
	h.Exec("update webhook.endpoint set stopped_at = now() - interval '1 hour', failures = 3, failing_since = now()")
	h.Exec("update webhook.delivery set due_at = now() + interval '10 hours', expires_at = now() + interval '1 hour' where sequence = 2")
	h.Must(h.Resume(t.Context(), id, nil))
	h.Must(h.Resume(t.Context(), id, nil))
	h.Want("due deliveries", "3", "select count(*) from webhook.waiting where due_at <= now()")
	h.Want("time left", "2", "select round(extract(epoch from expires_at - now()) / 3600) from webhook.waiting where sequence = 2")
	h.Want("endpoint", "active 0 t", "select concat_ws(' ', state, failures, stopped_at is null and failing_since is null) from webhook.endpoint")
	h.Want("commands", "add pause resume", "select string_agg(command, ' ' order by id) from webhook.audit")
}

// The time of deliveries that were never attempted does not run either. Replayed ones stay apart.
func TestResume_NeverAttempted(t *testing.T) {
	h := newHarness(t)
	id := h.register(0)
	h.deliver(id, 1, 4)
	h.Must(h.Pause(t.Context(), id))
	now := time.Now()
	h.Exec("update webhook.endpoint set stopped_at = $1", now.Add(-100*time.Hour))
	h.Exec("update webhook.delivery set due_at = $1, created_at = $1 where sequence = 1", now.Add(-101*time.Hour))
	h.Exec("update webhook.delivery set due_at = $1, created_at = $1 where sequence > 1", now.Add(-50*time.Hour))
	h.Exec(`update webhook.delivery set cause = 'replayed', due_at = due_at + interval '10 minutes' where sequence = 4`)
	h.Must(h.Resume(t.Context(), id, nil))
	h.Want("minutes until they are due", "-60 0 0 10",
		"select string_agg(round(extract(epoch from due_at - (select max(at) from webhook.audit)) / 60)::text, ' ' order by sequence) from webhook.waiting")
}

func TestResume_Disabled(t *testing.T) {
	h := newHarness(t)
	id := h.register(0)
	h.Exec("update webhook.endpoint set state = 'disabled', reason = 'gone', stopped_at = now()")
	if e := h.show(id); e.Reason == nil || *e.Reason != "gone" {
		t.Errorf("endpoint = %+v, want its reason", e)
	}
	if err := h.Pause(t.Context(), id); !errors.Is(err, registry.ErrState) {
		t.Errorf("pause: error = %v, want ErrState", err)
	}
	h.Must(h.Resume(t.Context(), id, nil))
	if e := h.show(id); e.State != registry.Active || e.Reason != nil {
		t.Errorf("endpoint = %+v, want it active without a reason", e)
	}
	h.Want("audited reason", "gone", "select before->>'reason' from webhook.audit where command = 'resume'")
}

// More than a slice is skipped, in several transactions.
func TestSkip(t *testing.T) {
	h := newHarness(t)
	id, other := h.register(0), h.register(0)
	h.deliver(id, 1, 10_001)
	h.deliver(other, 1, 1)
	if _, _, err := h.Skip(t.Context(), id); !errors.Is(err, registry.ErrState) {
		t.Errorf("of an active endpoint: error = %v, want ErrState", err)
	}
	h.Must(h.Pause(t.Context(), id))
	for _, want := range []struct {
		count int64
		more  bool
	}{{10_000, true}, {1, false}, {0, false}} {
		if n, more, err := h.Skip(t.Context(), id); n != want.count || more != want.more || err != nil {
			t.Errorf("skipped = %d, more = %v, %v, want %+v", n, more, err, want)
		}
	}
	h.Want("waiting", "1", "select count(*) from webhook.waiting")
	h.Want("skipped", "10001", "select count(*) from webhook.finished where state = 'skipped'")
	h.Must(h.Resume(t.Context(), id, new(int64(10_001))))
	h.Want("audited", "10001", "select after->>'skipped' from webhook.audit where command = 'resume'")
	if e := h.show(id); e.State != registry.Active {
		t.Errorf("state = %s, want active", e.State)
	}
}

func TestRemove(t *testing.T) {
	h := newHarness(t)
	id, other := h.register(0), h.register(0)
	h.deliver(id, 1, 3)
	h.Must(h.Remove(t.Context(), id))
	h.Must(h.Remove(t.Context(), other))
	h.Must(h.Remove(t.Context(), id))
	h.Want("webhooks used", "false", "select used from webhook.in_use")
	if n, more, err := h.Skip(t.Context(), id); n != 3 || more || err != nil {
		t.Errorf("skipped = %d, more = %v, %v, want 3", n, more, err)
	}
	h.Want("removals in the audit", "2", "select count(*) from webhook.audit where command = 'remove'")
	if e := h.show(id); e.State != registry.Removed {
		t.Errorf("state = %s, want removed", e.State)
	}
}

// The history of an endpoint that was paused long before is stored as long as that of others.
func TestRemove_AfterAPause(t *testing.T) {
	h := newHarness(t)
	id := h.register(0)
	h.Must(h.Pause(t.Context(), id))
	h.Exec("update webhook.endpoint set stopped_at = now() - interval '40 days'")
	h.Must(h.Remove(t.Context(), id))
	const sinceRemoval = `
		select stopped_at - (select at from webhook.audit where command = 'remove') between '0 s' and '1 hour'
		from webhook.endpoint`
	h.Want("stopped when it was removed", "true", sinceRemoval)
	h.Must(h.Remove(t.Context(), id))
	h.Want("stopped at the first removal", "true", sinceRemoval)
}

// A sender that records outcomes has locked the endpoint, and locks deliveries in another order than who skips them.
func TestSkip_WhileOutcomesAreRecorded(t *testing.T) {
	h := newHarness(t)
	id := h.register(0)
	h.deliver(id, 1, 2)
	h.Must(h.Remove(t.Context(), id))
	sender, err := h.Super.Begin(t.Context())
	h.Must(err)
	defer func() { _ = sender.Rollback(context.Background()) }()
	for _, sql := range []string{"select from webhook.endpoint for no key update", "delete from webhook.waiting where sequence = 2"} {
		_, err = sender.Exec(t.Context(), sql)
		h.Must(err)
	}
	skipped := make(chan error, 1)
	go func() {
		_, _, err := h.Skip(t.Context(), id)
		skipped <- err
	}()
	eventstest.Eventually(t, "the command waits", func() bool {
		return h.Text("select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()") != "0"
	})
	_, err = sender.Exec(t.Context(), "delete from webhook.waiting where sequence = 1")
	h.Must(errors.Join(err, sender.Commit(t.Context())))
	h.Must(<-skipped)
}

// What a removed or unknown endpoint can't do.
func TestChange_Refused(t *testing.T) {
	h := newHarness(t)
	removed, unknown := h.register(0), uuid.New()
	h.Must(h.Remove(t.Context(), removed))
	name := "x"
	for what, change := range map[string]func(id uuid.UUID) error{
		"pause":  func(id uuid.UUID) error { return h.Pause(t.Context(), id) },
		"resume": func(id uuid.UUID) error { return h.Resume(t.Context(), id, nil) },
		"set":    func(id uuid.UUID) error { return h.Set(t.Context(), id, registry.Changes{Name: &name}) },
		"rotate": func(id uuid.UUID) error {
			_, err := h.Rotate(t.Context(), id, time.Hour, h.vault)
			return err
		},
		"test": func(id uuid.UUID) error {
			_, err := h.Try(t.Context(), id, webhook.Test)
			return err
		},
		"redeliver": func(id uuid.UUID) error {
			_, err := h.RedeliverState(t.Context(), id, registry.Dead, time.Time{})
			return err
		},
		"replay": func(id uuid.UUID) error {
			_, err := h.Replay(t.Context(), registry.Replay{Endpoint: id, Until: time.Now(), Days: 30}, true)
			return err
		},
	} {
		if err := change(removed); !errors.Is(err, registry.ErrState) || !strings.Contains(err.Error(), "is removed") {
			t.Errorf("%s of a removed endpoint: error = %v, want ErrState", what, err)
		}
		if err := change(unknown); !errors.Is(err, registry.ErrUnknownEndpoint) {
			t.Errorf("%s of an unknown endpoint: error = %v, want ErrUnknownEndpoint", what, err)
		}
	}
}

func TestSet(t *testing.T) {
	h := newHarness(t)
	id := h.register(0)
	name, other, concurrency := "Sales", "https://other.example.com/?q=hunter3", 64
	h.Must(h.Set(t.Context(), id, registry.Changes{Name: &name, Kinds: []webhook.Kind{webhook.CallEnded}}))
	h.Must(h.Set(t.Context(), id, registry.Changes{URL: &other, Concurrency: &concurrency}))
	e := h.show(id)
	if e.Name != name || e.URL != "https://other.example.com/?…" || e.Concurrency != 64 || len(e.Kinds) != 1 {
		t.Errorf("endpoint = %+v, want all four changed", e.Endpoint)
	}
	h.Want("stored URL", other, "select url from webhook.endpoint")
	for _, change := range e.Changes {
		if text := string(change.Before) + string(change.After); strings.Contains(text, "hunter") {
			t.Errorf("audit = %s, want no query", text)
		}
	}
	var invalid *registry.InvalidError
	concurrency = 65
	if err := h.Set(t.Context(), id, registry.Changes{Concurrency: &concurrency}); !errors.As(err, &invalid) {
		t.Errorf("concurrency 65: error = %v, want an InvalidError", err)
	}
}

func TestRotate(t *testing.T) {
	h := newHarness(t)
	id := h.register(0)
	for _, overlap := range []time.Duration{time.Hour, 2 * time.Hour} {
		if _, err := h.Rotate(t.Context(), id, overlap, h.vault); err != nil {
			t.Fatal(err)
		}
	}
	secrets := h.show(id).Secrets
	if len(secrets) != 3 || secrets[0].ExpiresAt != nil || secrets[1].ExpiresAt == nil || secrets[2].ExpiresAt == nil {
		t.Fatalf("secrets = %+v, want a current one, first, and two that expire", secrets)
	}
	// The second rotation does not prolong the first secret.
	if left := time.Until(*secrets[2].ExpiresAt); left > time.Hour || left < 50*time.Minute {
		t.Errorf("the oldest secret expires in %s, want about an hour", left)
	}
	secret, err := h.Rotate(t.Context(), id, 0, h.vault)
	if secrets := h.show(id).Secrets; err != nil || len(secrets) != 1 || secrets[0].ExpiresAt != nil {
		t.Errorf("secrets without an overlap = %+v, %v, want the current one", secrets, err)
	}
	h.Want("stored secrets without an overlap", "1", "select jsonb_array_length(secrets) from webhook.endpoint")
	if audit := h.Text("select string_agg(a::text, ' ') from webhook.audit a"); strings.Contains(audit, secret.Reveal()[6:]) {
		t.Error("the audit has the secret")
	}
	for range 9 {
		_, err = h.Rotate(t.Context(), id, time.Hour, h.vault)
		h.Must(err)
	}
	if _, err = h.Rotate(t.Context(), id, time.Hour, h.vault); err == nil {
		t.Error("an 11th secret: no error, want one")
	}
	var invalid *registry.InvalidError
	for _, overlap := range []time.Duration{-1, 721 * time.Hour} {
		if _, err := h.Rotate(t.Context(), id, overlap, h.vault); !errors.As(err, &invalid) {
			t.Errorf("overlap %s: error = %v, want an InvalidError", overlap, err)
		}
	}
}
