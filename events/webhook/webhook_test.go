package webhook_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/webhook"
)

func system() uuid.UUID    { return uuid.MustParse("7d0d9a34-3a52-4cb0-a7e5-0c1f0a8c5b11") }
func callLog() uuid.UUID   { return uuid.MustParse("0b9f2f0e-91a6-4c0e-8f6c-2d7d0f1f6a01") }
func voicemail() uuid.UUID { return uuid.MustParse("3f1c2b6e-6c51-4f0f-9d1e-5a2b7c9d0e02") }
func stored() time.Time    { return time.Date(2026, 3, 2, 9, 33, 12, 345678901, time.UTC) }

func TestID(t *testing.T) {
	id := webhook.ID(webhook.CallEnded, system(), callLog().String(), 0)
	if want := "evt_aho6auuz4dou5vtvfk6do3w5y26vsovt"; id != want {
		t.Errorf("id = %s, want %s", id, want)
	}
	for _, other := range []string{
		webhook.ID(webhook.AnalysisCompleted, system(), callLog().String(), 0),
		webhook.ID(webhook.CallEnded, voicemail(), callLog().String(), 0),
		webhook.ID(webhook.CallEnded, system(), voicemail().String(), 0),
		webhook.ID(webhook.CallEnded, system(), callLog().String(), 1),
	} {
		if other == id {
			t.Errorf("id of something else = %s, want another", other)
		}
	}
}

func TestParseKinds(t *testing.T) {
	for text, want := range map[string]string{
		"all": "[call.ended call.recording.available call.transcription.completed voicemail.created call.analysis.completed]",
		"voicemail.created, call.ended,voicemail.created": "[call.ended voicemail.created]",
	} {
		if got, err := webhook.ParseKinds(text); err != nil || fmt.Sprint(got) != want {
			t.Errorf("kinds of %q = %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "call.started", "call.ended,", "callboard.test", "ALL"} {
		if got, err := webhook.ParseKinds(text); err == nil {
			t.Errorf("kinds of %q = %v, want an error", text, got)
		}
	}
}

func request() (webhook.Secret, http.Header, []byte) {
	secret := webhook.NewSecret()
	event := webhook.Event{
		Type: webhook.CallEnded, Timestamp: stored().In(time.FixedZone("", 3600)),
		Data: webhook.Data{PhoneSystemID: system(), CallSid: "CA1"},
	}
	body := event.Body()
	return secret, webhook.Sign([]webhook.Secret{secret}, "evt_a", stored(), body), body
}

func TestVerify(t *testing.T) {
	secret, header, body := request()
	other := webhook.NewSecret()
	got, err := webhook.Verify([]webhook.Secret{other, secret}, header, body, stored().Add(5*time.Minute))
	want := webhook.Event{
		ID: "evt_a", Type: webhook.CallEnded, Timestamp: stored().Truncate(time.Millisecond), Data: webhook.Data{PhoneSystemID: system(), CallSid: "CA1"},
	}
	if err != nil || got != want {
		t.Errorf("event = %v, %v, want %v", got, err, want)
	}
	// While a secret is replaced, requests have two signatures. A receiver knows one of the two secrets.
	two := webhook.Sign([]webhook.Secret{other, secret}, "evt_a", stored(), body)
	for _, known := range []webhook.Secret{secret, other} {
		if _, err := webhook.Verify([]webhook.Secret{known}, two, body, stored()); err != nil {
			t.Errorf("error with two signatures = %v, want none", err)
		}
	}
}

// The test vectors have the other refusals.
func TestVerify_Refuses(t *testing.T) {
	secret, header, body := request()
	with := func(name, value string) http.Header {
		changed := header.Clone()
		changed.Set(name, value)
		return changed
	}
	endless := strconv.FormatInt(-1<<63, 10)
	many := strings.Repeat("v1,AAAA ", 16) + header.Get(webhook.HeaderSignature)
	for what, c := range map[string]struct {
		secrets []webhook.Secret
		header  http.Header
		want    error
	}{
		"no headers":           {[]webhook.Secret{secret}, http.Header{}, webhook.ErrHeaders},
		"an endless timestamp": {[]webhook.Secret{secret}, with(webhook.HeaderTimestamp, endless), webhook.ErrTimestamp},
		"no secret":            {nil, header, webhook.ErrSignature},
		"too many signatures":  {[]webhook.Secret{secret}, with(webhook.HeaderSignature, many), webhook.ErrSignature},
	} {
		if e, err := webhook.Verify(c.secrets, c.header, body, stored()); !errors.Is(err, c.want) {
			t.Errorf("%s: event = %v, error = %v, want %v", what, e, err, c.want)
		}
	}
	signed := webhook.Sign([]webhook.Secret{secret}, "evt_a", stored(), []byte("{}"))
	if e, err := webhook.Verify([]webhook.Secret{secret}, signed, []byte("{}"), stored()); err == nil {
		t.Errorf("a signed body without a timestamp: event = %v, want an error", e)
	}
}

func TestSecret(t *testing.T) {
	secret := webhook.NewSecret()
	text := secret.Reveal()
	again, err := webhook.ParseSecret(text)
	if err != nil || again.Reveal() != text {
		t.Errorf("parsed secret differs, error %v", err)
	}
	if printed := fmt.Sprintf("%v %+v %#v %s %x", secret, struct{ s webhook.Secret }{secret}, secret, secret, secret); strings.Contains(printed, text[6:20]) {
		t.Error("a secret prints")
	}
	for _, refused := range []string{
		"", "whsec_", "whsec_AAAA", text[6:], "whsec_%" + text[7:], "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65)),
	} {
		if _, err := webhook.ParseSecret(refused); err == nil {
			t.Errorf("a secret of %d characters was accepted, want an error", len(refused))
		}
	}
}

func FuzzVerify(f *testing.F) {
	secret, header, body := request()
	f.Add(header.Get(webhook.HeaderID), header.Get(webhook.HeaderTimestamp), header.Get(webhook.HeaderSignature), body)
	f.Fuzz(func(t *testing.T, id, timestamp, signature string, other []byte) {
		given := http.Header{}
		given.Set(webhook.HeaderID, id)
		given.Set(webhook.HeaderTimestamp, timestamp)
		given.Set(webhook.HeaderSignature, signature)
		same := id == "evt_a" && string(other) == string(body) && timestamp == header.Get(webhook.HeaderTimestamp)
		if _, err := webhook.Verify([]webhook.Secret{secret}, given, other, stored()); err == nil && !same {
			t.Errorf("accepted %q %q %q %q, which was not signed", id, timestamp, signature, other)
		}
	})
}
