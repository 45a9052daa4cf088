package events_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"callboard/events"
)

func TestParseMessage_ReadsWhatWasAppended(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := events.Message{Subject: rapid.String().Draw(t, "subject"), Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data")}
		if header := rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.String())).Draw(t, "header"); len(header) > 0 {
			want.Header = nats.Header(header)
		}
		got, ok := events.ParseMessage(want.AppendTo(nil))
		if !ok || !reflect.DeepEqual(got, want) {
			t.Fatalf("message = %+v, %t, want %+v", got, ok, want)
		}
	})
}

// Any bytes are a message or none. A message that they are is appended and read again.
func FuzzParseMessage(f *testing.F) {
	whole := events.Message{Subject: "phones.0.x.call", Header: nats.Header{"a": {"b", "c"}}, Data: []byte("{}")}.AppendTo(nil)
	for _, seed := range [][]byte{nil, whole, whole[:len(whole)-3], whole[:9], bytes.Repeat([]byte{0xff}, 40), {0, 0, 0, 1, 0x80}} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, ok := events.ParseMessage(data)
		if !ok {
			return
		}
		if again, ok := events.ParseMessage(m.AppendTo(nil)); !ok || !reflect.DeepEqual(again, m) {
			t.Errorf("message = %+v, %t, want %+v", again, ok, m)
		}
	})
}
