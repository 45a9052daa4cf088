package audit_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/audit"
	"callboard/events/eventstest"
)

func entries() []audit.Entry {
	at := time.Date(2026, 3, 2, 9, 30, 0, 123456000, time.UTC)
	return []audit.Entry{
		{
			ID: uuid.New(), At: at, KeyID: uuid.New(), Operation: "listCallLogs", System: uuid.NullUUID{UUID: uuid.New(), Valid: true},
			Status: 200, Address: netip.MustParseAddr("192.0.2.7"), RequestID: "a",
		},
		{ID: uuid.New(), At: at, KeyID: uuid.New(), Operation: "listAccessiblePhoneSystems", Status: 403, Code: "ADDRESS_NOT_ALLOWED", RequestID: "<b>"},
	}
}

func TestEncode_RoundTrip(t *testing.T) {
	want := entries()
	message, err := audit.Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := audit.Decode(message)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

func TestDecode_Refuses(t *testing.T) {
	good, err := audit.Encode(entries())
	if err != nil {
		t.Fatal(err)
	}
	for name, message := range map[string]string{
		"not JSON":       "hello",
		"half a line":    string(good[:len(good)-5]),
		"without an id":  strings.Replace(string(good), `"id"`, `"no"`, 1),
		"without a time": strings.Replace(string(good), `"at"`, `"no"`, 1),
		"without a key":  strings.Replace(string(good), `"keyId"`, `"no"`, 1),
	} {
		if got, err := audit.Decode([]byte(message)); err == nil {
			t.Errorf("%s is read as %v", name, got)
		}
	}
}

// The server takes the settings as they are.
func TestStreamConfig(t *testing.T) {
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	stream, err := js.CreateStream(t.Context(), audit.StreamConfig(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CreateConsumer(t.Context(), audit.ConsumerConfig()); err != nil {
		t.Error(err)
	}
}
