package events_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"callboard/events"
)

func TestDecodeKey_FindsTheKeyThatDecodeFinds(t *testing.T) {
	t.Parallel()
	var d events.Decoder
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent().Draw(t, "event")
		m, err := events.Encode(e)
		if err != nil {
			t.Skip("an event that Decode refuses")
		}
		entity, key, ok := d.DecodeKey(m)
		switch e.Entity {
		case events.EntityCall, events.EntityVoicemail, events.EntityTranscript:
			if !ok || entity != e.Entity || key != e.Key {
				t.Fatalf("entity, key = %s, %s, %t, want %s, %s", entity, key, ok, e.Entity, e.Key)
			}
		default:
			if ok {
				t.Fatalf("entity, key = %s, %s, want none of %s", entity, key, e.Entity)
			}
		}
	})
}

func TestDecodeKey_FindsNoneInWhatDecodeRefuses(t *testing.T) {
	t.Parallel()
	var d events.Decoder
	for _, data := range []string{``, `{`, `[]`, `{"id":"x"}`, `{"id":null}`, `{"callId":"5d0c6a6e-27f1-4a4e-9d2b-0c8f3f1b7a10"}`} {
		m := fixture(t, "call.changed")
		m.Data = []byte(data)
		if entity, key, ok := d.DecodeKey(m); ok {
			t.Errorf("%s: entity, key = %s, %s, want none", data, entity, key)
		}
	}
}

func TestDecodeKey_FindsTheKeyWhereverItStands(t *testing.T) {
	t.Parallel()
	const id = "5d0c6a6e-27f1-4a4e-9d2b-0c8f3f1b7a10"
	var d events.Decoder
	for _, test := range []struct{ fixture, data, want string }{
		{"call.changed", `{"id":"` + id + `", not read`, id},
		{"call.changed", ` { "caller" : {"id":"1"}, "list":["id",{}], "id" : "` + strings.ToUpper(id) + `"}`, id},
		{"call.changed", `{"\u0069d":"` + id + `"}`, id},
		{"voicemail.changed", `{"id":"` + id + `"}`, id},
		{"transcript.changed", `{"id":"other","callId":null,"voicemailId":"` + id + `"}`, "voicemail/" + id},
		{"transcript.changed", `{"voicemailId":null,"callId":"` + id + `"}`, "call/" + id},
	} {
		m := fixture(t, test.fixture)
		m.Data = []byte(test.data)
		if _, key, ok := d.DecodeKey(m); !ok || key != test.want {
			t.Errorf("%s: key = %q, %t, want %q", test.data, key, ok, test.want)
		}
	}
}

func BenchmarkDecodeKey(b *testing.B) {
	m := fixture(b, "call.changed")
	var d events.Decoder
	b.Run("the key", func(b *testing.B) {
		for b.Loop() {
			d.DecodeKey(m)
		}
	})
	b.Run("everything", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.Decode(m); err != nil {
				b.Fatal(err)
			}
		}
	})
}
