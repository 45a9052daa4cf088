package events_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
)

func auditEntries() []events.AuditEntry {
	at := time.Date(2026, 3, 2, 9, 30, 0, 123456000, time.UTC)
	return []events.AuditEntry{
		{
			ID: uuid.New(), At: at, KeyID: uuid.New(), Operation: "listCallLogs", System: uuid.NullUUID{UUID: uuid.New(), Valid: true},
			Status: 200, Address: netip.MustParseAddr("192.0.2.7"), RequestID: "a",
		},
		{ID: uuid.New(), At: at, KeyID: uuid.New(), Operation: "listAccessiblePhoneSystems", Status: 403, Code: "ADDRESS_NOT_ALLOWED", RequestID: "<b>"},
		{
			ID: uuid.New(), At: at, KeyID: uuid.New(), Status: 401, Code: "UNAUTHENTICATED", Address: netip.MustParseAddr("192.0.2.9"), RequestID: "c",
			Count: 19997, LastAt: at.Add(time.Second), LastRequestID: "d", Addresses: 41,
		},
	}
}

func TestEncodeAudit_RoundTrip(t *testing.T) {
	t.Parallel()
	want := auditEntries()
	message, err := events.EncodeAudit(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := events.DecodeAudit(message)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded = %v, error = %v, want %v", got, err, want)
	}
}

func TestDecodeAudit_RefusesInvalidMessages(t *testing.T) {
	t.Parallel()
	valid, err := events.EncodeAudit(auditEntries())
	if err != nil {
		t.Fatal(err)
	}
	for name, message := range map[string]string{
		"empty":                   "",
		"an empty line":           "\n",
		"not JSON":                "hello",
		"half a line":             string(valid[:len(valid)-5]),
		"without an id":           strings.Replace(string(valid), `"id"`, `"no"`, 1),
		"a negative count":        strings.Replace(string(valid), `"status"`, `"count":-1,"status"`, 1),
		"an end before its start": strings.Replace(string(valid), `"status"`, `"lastAt":"2026-03-01T00:00:00Z","status"`, 1),
		"without a time":          strings.Replace(string(valid), `"at"`, `"no"`, 1),
		"without a key":           strings.Replace(string(valid), `"keyId"`, `"no"`, 1),
		"the year 0":              strings.Replace(string(valid), `"2026-`, `"0000-`, 1),
	} {
		if got, err := events.DecodeAudit([]byte(message)); err == nil {
			t.Errorf("%s: decoded = %v, want an error", name, got)
		}
	}
}
