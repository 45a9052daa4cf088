package webhook_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"callboard/events"
	"callboard/events/webhook"
)

// vector is a request and whether a receiver accepts it.
type vector struct {
	Name    string            `json:"name"`
	Secrets []string          `json:"secrets"`
	Now     int64             `json:"now"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Refused string            `json:"refused"` // why; empty: accepted
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	data, err := fs.ReadFile(events.Documents(), "webhooks.vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []vector `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Vectors
}

func (v vector) header() http.Header {
	header := http.Header{}
	for name, value := range v.Headers {
		header.Set(name, value)
	}
	return header
}

// secrets returns the receiver's secrets. One that can't be parsed is the zero secret.
func (v vector) secrets(t *testing.T) (secrets []webhook.Secret) {
	t.Helper()
	valid := true
	for _, text := range v.Secrets {
		secret, err := webhook.ParseSecret(text)
		valid = valid && err == nil
		secrets = append(secrets, secret)
	}
	if valid == (v.Refused == "secret") {
		t.Errorf("%s: the secrets are valid = %t, want %t", v.Name, valid, !valid)
	}
	return secrets
}

func TestVectors(t *testing.T) {
	kinds := make(map[webhook.Kind]bool)
	refused := map[string]error{"": nil, "headers": webhook.ErrHeaders, "timestamp": webhook.ErrTimestamp, "signature": webhook.ErrSignature, "secret": webhook.ErrSecret}
	seen := make(map[string]int)
	for _, v := range readVectors(t) {
		want, known := refused[v.Refused]
		if !known {
			t.Errorf("%s: reason = %q, want a known one", v.Name, v.Refused)
		}
		seen[v.Refused]++
		event, err := webhook.Verify(v.secrets(t), v.header(), []byte(v.Body), time.Unix(v.Now, 0))
		if !errors.Is(err, want) {
			t.Errorf("%s: error = %v, want %v", v.Name, err, want)
		}
		if err == nil {
			kinds[event.Type] = true
		}
	}
	for _, kind := range append(webhook.Kinds(), webhook.Test) {
		if !kinds[kind] {
			t.Errorf("no vector of %s is accepted, want one", kind)
		}
	}
	for reason := range refused {
		if seen[reason] < 2 {
			t.Errorf("vectors with reason %q = %d, want 2 or more", reason, seen[reason])
		}
	}
}

// The reference library agrees about everything but the time, which it takes from the clock, and secrets, of which it
// takes short ones.
func TestVectors_AreStandard(t *testing.T) {
	for _, v := range readVectors(t) {
		if v.Refused == "timestamp" || v.Refused == "secret" {
			continue
		}
		accepted := false
		for _, secret := range v.Secrets {
			reference, err := standard.NewWebhook(secret)
			if err != nil {
				t.Fatal(err)
			}
			accepted = reference.VerifyIgnoringTimestamp([]byte(v.Body), v.header()) == nil || accepted
		}
		if want := v.Refused == ""; accepted != want {
			t.Errorf("%s: accepted by the reference library = %t, want %t", v.Name, accepted, want)
		}
	}
}

// Each vector has the body and the signatures that this package makes of the same event.
func TestVectors_AreOurs(t *testing.T) {
	for _, v := range readVectors(t)[:6] {
		at := time.Unix(v.Now-1, 0)
		event, err := webhook.Verify(v.secrets(t), v.header(), []byte(v.Body), at)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		if got := string(event.Body()); got != v.Body {
			t.Errorf("%s: body = %s, want %s", v.Name, got, v.Body)
		}
		signed := webhook.Sign(v.secrets(t), event.ID, at, event.Body())
		for name, want := range v.Headers {
			if got := signed.Get(name); got != want {
				t.Errorf("%s: %s = %s, want %s", v.Name, name, got, want)
			}
		}
	}
}
