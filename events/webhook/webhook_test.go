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
	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"callboard/events/webhook"
)

func system() uuid.UUID    { return uuid.MustParse("7d0d9a34-3a52-4cb0-a7e5-0c1f0a8c5b11") }
func callLog() uuid.UUID   { return uuid.MustParse("0b9f2f0e-91a6-4c0e-8f6c-2d7d0f1f6a01") }
func voicemail() uuid.UUID { return uuid.MustParse("3f1c2b6e-6c51-4f0f-9d1e-5a2b7c9d0e02") }
func stored() time.Time    { return time.Date(2026, 3, 2, 9, 33, 12, 345678901, time.UTC) }

func TestEvent_Body(t *testing.T) {
	const head, ids = `","timestamp":"2026-03-02T09:33:12.345Z","data":{`, `"phoneSystemId":"7d0d9a34-3a52-4cb0-a7e5-0c1f0a8c5b11","callSid":"CA1"`
	data := webhook.Data{PhoneSystemID: system(), CallSid: "CA1"}
	recording, call, mail := data, data, data
	recording.RecordingSid, call.CallLogID, mail.VoicemailID = "RE1", callLog(), voicemail()
	for _, c := range []struct {
		kind webhook.Kind
		data webhook.Data
		want string
	}{
		{webhook.CallEnded, data, ids},
		{webhook.RecordingAvailable, recording, ids + `,"recordingSid":"RE1"`},
		{webhook.TranscriptionCompleted, call, ids + `,"callLogId":"0b9f2f0e-91a6-4c0e-8f6c-2d7d0f1f6a01"`},
		{webhook.TranscriptionCompleted, mail, ids + `,"voicemailId":"3f1c2b6e-6c51-4f0f-9d1e-5a2b7c9d0e02"`},
		{webhook.Test, webhook.Data{}, ""},
	} {
		e := webhook.Event{Type: c.kind, Timestamp: stored().In(time.FixedZone("", 3600)), Data: c.data}
		if got, want := string(e.Body()), `{"type":"`+string(c.kind)+head+c.want+"}}"; got != want {
			t.Errorf("body = %s, want %s", got, want)
		}
	}
}

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
	body := webhook.Event{Type: webhook.CallEnded, Timestamp: stored(), Data: webhook.Data{PhoneSystemID: system(), CallSid: "CA1"}}.Body()
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

func TestVerify_Refuses(t *testing.T) {
	secret, _, _ := request()
	body := []byte(`{}`)
	with := func(change func(http.Header)) http.Header {
		header := webhook.Sign([]webhook.Secret{secret}, "evt_a", stored(), body)
		change(header)
		return header
	}
	same := func(http.Header) {}
	for what, c := range map[string]struct {
		header  http.Header
		body    string
		secrets []webhook.Secret
		now     time.Time
		want    error
	}{
		"no headers":            {http.Header{}, "{}", []webhook.Secret{secret}, stored(), webhook.ErrHeaders},
		"no id":                 {with(func(h http.Header) { h.Del(webhook.HeaderID) }), "{}", []webhook.Secret{secret}, stored(), webhook.ErrHeaders},
		"a malformed timestamp": {with(func(h http.Header) { h.Set(webhook.HeaderTimestamp, "1.5") }), "{}", []webhook.Secret{secret}, stored(), webhook.ErrHeaders},
		"an endless timestamp": {
			with(func(h http.Header) { h.Set(webhook.HeaderTimestamp, strconv.FormatInt(-1<<63, 10)) }), "{}", []webhook.Secret{secret}, stored(), webhook.ErrTimestamp,
		},
		"an old request":     {with(same), "{}", []webhook.Secret{secret}, stored().Add(5*time.Minute + time.Second), webhook.ErrTimestamp},
		"a future request":   {with(same), "{}", []webhook.Secret{secret}, stored().Add(-5*time.Minute - time.Second), webhook.ErrTimestamp},
		"another body":       {with(same), "{ }", []webhook.Secret{secret}, stored(), webhook.ErrSignature},
		"another id":         {with(func(h http.Header) { h.Set(webhook.HeaderID, "evt_b") }), "{}", []webhook.Secret{secret}, stored(), webhook.ErrSignature},
		"another time":       {with(func(h http.Header) { h.Set(webhook.HeaderTimestamp, strconv.FormatInt(stored().Unix()+1, 10)) }), "{}", []webhook.Secret{secret}, stored(), webhook.ErrSignature},
		"another secret":     {with(same), "{}", []webhook.Secret{webhook.NewSecret()}, stored(), webhook.ErrSignature},
		"no secret":          {with(same), "{}", nil, stored(), webhook.ErrSignature},
		"an empty secret":    {with(same), "{}", []webhook.Secret{secret, {}}, stored(), webhook.ErrSecret},
		"no signature":       {with(func(h http.Header) { h.Set(webhook.HeaderSignature, "v1,") }), "{}", []webhook.Secret{secret}, stored(), webhook.ErrSignature},
		"of another version": {with(func(h http.Header) { h.Set(webhook.HeaderSignature, "v2"+h.Get(webhook.HeaderSignature)[2:]) }), "{}", []webhook.Secret{secret}, stored(), webhook.ErrSignature},
		"too many signatures": {with(func(h http.Header) {
			h.Set(webhook.HeaderSignature, strings.Repeat("v1,AAAA ", 16)+h.Get(webhook.HeaderSignature))
		}), "{}", []webhook.Secret{secret}, stored(), webhook.ErrSignature},
	} {
		if e, err := webhook.Verify(c.secrets, c.header, []byte(c.body), c.now); !errors.Is(err, c.want) {
			t.Errorf("%s: event = %v, error = %v, want %v", what, e, err, c.want)
		}
	}
	if e, err := webhook.Verify([]webhook.Secret{secret}, with(same), body, stored()); err == nil {
		t.Errorf("a signed body without a timestamp: event = %v, want an error", e)
	}
}

// The library that the specification's authors publish accepts what Sign signs.
func TestSign_IsStandard(t *testing.T) {
	secret := webhook.NewSecret()
	reference, err := standard.NewWebhook(secret.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	body := webhook.Event{Type: webhook.Test, Timestamp: time.Now()}.Body()
	if err := reference.Verify(body, webhook.Sign([]webhook.Secret{webhook.NewSecret(), secret}, "evt_a", time.Now(), body)); err != nil {
		t.Errorf("the reference library's error = %v, want none", err)
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
