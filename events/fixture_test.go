package events_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events"
	"callboard/events/eventstest"
)

func TestMain(m *testing.M) {
	eventstest.RunAndFindLeaks(m, eventstest.IgnoreObjectStoreWatcher(), eventstest.IgnoreSourceRemoval())
}

// fixtureNames returns the names of the recorded bodies: <entity>.changed, <entity>.deleted and
// <entity>.<variant>.changed.
func fixtureNames(tb testing.TB) []string {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("fixtures in testdata = %d, %v", len(paths), err)
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = strings.TrimSuffix(filepath.Base(path), ".json")
	}
	return names
}

func fixtureBody(tb testing.TB, name string) []byte {
	tb.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// fixture returns a recorded body as a message with its subject and headers.
func fixture(tb testing.TB, name string) events.Message {
	tb.Helper()
	entity, _, _ := strings.Cut(name, ".")
	body := fixtureBody(tb, name)
	var key struct{ ID, PhoneSystemID uuid.UUID }
	if err := json.Unmarshal(body, &key); err != nil {
		tb.Fatal(err)
	}
	if entity == string(events.EntityPhoneSystem) {
		key.PhoneSystemID = key.ID
	}
	ceType := "callboard." + entity + name[strings.LastIndexByte(name, '.'):]
	return events.Message{
		Subject: events.Subject(key.PhoneSystemID, events.Entity(entity)),
		Header: nats.Header{
			"ce-specversion": {"1.0"},
			"ce-id":          {"01J5Y7Q4M8-" + name},
			"ce-source":      {"/platform/test"},
			"ce-type":        {ceType},
			"ce-time":        {"2026-03-02T09:34:06.250Z"},
			"Content-Type":   {"application/json"},
		},
		Data: body,
	}
}

func decoded(tb testing.TB, name string) events.Event {
	tb.Helper()
	e, err := events.Decode(fixture(tb, name))
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return e
}

func TestFixtures_CoverEveryEntity(t *testing.T) {
	for _, entity := range events.Entities() {
		if e := decoded(t, string(entity)+".changed"); e.Entity != entity || e.Deleted() {
			t.Errorf("type of %s.changed = %s, want a change of %[1]s", entity, e.Type())
		}
		d := decoded(t, string(entity)+".deleted")
		if d.Entity != entity || !d.Deleted() {
			t.Errorf("type of %s.deleted = %s, want a deletion of %[1]s", entity, d.Type())
		}
		changed := decoded(t, string(entity)+".changed").Identity
		if changed.Version++; changed != d.Identity {
			t.Errorf("%s: identity of the deletion = %+v, want %+v", entity, d.Identity, changed)
		}
	}
}
