package registry_test

import (
	"errors"
	"strings"
	"testing"

	"callboard/events/webhook"
	"callboard/projector/webhook/registry"
)

func TestRegister_ThenActivate(t *testing.T) {
	h := newHarness(t)
	c := h.candidate(registry.Target{Kind: registry.System, ID: h.system})
	h.Must(h.Register(t.Context(), c))
	h.Want("webhooks used", "true", "select used from webhook.in_use")
	if e := h.show(c.ID()); e.State != registry.Adding || e.URL != "https://hooks.example.com/in?…" || e.SuccessRate != nil {
		t.Errorf("endpoint = %+v, want it adding, without the URL's query", e)
	}
	h.deliver(c.ID(), 6, 9) // by a fan-out that ran meanwhile
	h.Exec("insert into webhook.floor values ($1, 1, 3), ($1, 2, 100)", stream())
	h.deliver(c.ID(), 10, 10)
	h.Exec("update webhook.delivery set stream = gen_random_uuid() where sequence = 10") // of a stream that was replaced
	h.Must(h.Activate(t.Context(), c.ID(), origin(7)))
	h.Want("sequences of deliveries", "8,9", "select string_agg(sequence::text, ',' order by id) from webhook.waiting")
	h.Want("floors", "7,7,100,7", "select string_agg(sequence::text, ',' order by partition) from webhook.floor")
	h.Want("origin", "7 t", "select concat_ws(' ', from_sequence, stream = $1) from webhook.endpoint", stream())
	if e := h.show(c.ID()); e.State != registry.Active || e.Waiting != 2 {
		t.Errorf("endpoint = %+v, want it active with 2 waiting", e.Endpoint)
	}
	second := h.register(20)
	h.Want("floors after a second endpoint", "7,7,100,7", "select string_agg(sequence::text, ',' order by partition) from webhook.floor")
	if list, err := h.List(t.Context()); err != nil || len(list) != 2 || list[0].ID != second {
		t.Errorf("list = %+v, %v, want two, the newest first", list, err)
	}
	if err := h.Activate(t.Context(), second, origin(21)); err == nil {
		t.Error("second activation: no error, want one")
	}
}

// The secret in the database can be opened for its row, and is nowhere in clear text.
func TestRegister_SealsTheSecret(t *testing.T) {
	h := newHarness(t)
	c := h.candidate(registry.Target{Kind: registry.System, ID: h.system})
	h.Must(h.Register(t.Context(), c))
	var sealed webhook.Sealed
	h.Must(h.Super.QueryRow(t.Context(), "select secrets->0 from webhook.endpoint where id = $1", c.ID()).Scan(&sealed))
	plain, err := h.vault.Open(c.ID(), sealed)
	if err != nil || string(plain) != c.Secret().Reveal() {
		t.Errorf("opened secret differs, error %v", err)
	}
	audit := h.Text("select string_agg(a::text, ' ') from webhook.audit a")
	for _, secret := range []string{"whsec_", "hunter2", c.Secret().Reveal()[6:]} {
		if strings.Contains(audit, secret) {
			t.Errorf("the audit has a secret")
		}
	}
	h.Want("audit", "callboard_operator ada add adding", "select concat_ws(' ', role, by, command, after->>'state') from webhook.audit")
}

func TestNewCandidate_Refuses(t *testing.T) {
	h := newHarness(t)
	system := registry.Target{Kind: registry.System, ID: h.system}
	for what, refused := range map[string]func() (registry.Candidate, error){
		"no name": func() (registry.Candidate, error) {
			return registry.NewCandidate(" ", url, system, webhook.Kinds(), 8, h.vault)
		},
		"a long name": func() (registry.Candidate, error) {
			return registry.NewCandidate(strings.Repeat("x", 201), url, system, webhook.Kinds(), 8, h.vault)
		},
		"no concurrency": func() (registry.Candidate, error) {
			return registry.NewCandidate("CRM", url, system, webhook.Kinds(), 0, h.vault)
		},
		"too much concurrency": func() (registry.Candidate, error) {
			return registry.NewCandidate("CRM", url, system, webhook.Kinds(), 65, h.vault)
		},
		"no kinds": func() (registry.Candidate, error) { return registry.NewCandidate("CRM", url, system, nil, 8, h.vault) },
		"no target": func() (registry.Candidate, error) {
			return registry.NewCandidate("CRM", url, registry.Target{}, webhook.Kinds(), 8, h.vault)
		},
	} {
		var invalid *registry.InvalidError
		if _, err := refused(); !errors.As(err, &invalid) {
			t.Errorf("%s: error = %v, want an InvalidError", what, err)
		}
	}
}
