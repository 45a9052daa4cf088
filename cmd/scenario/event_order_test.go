package scenario_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/readapi/access"
)

// Facets may precede their call: the call shows them when it is there.
func TestCallLog_FacetsInAnyOrder(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system, id := uuid.New(), uuid.New()
	path := "/" + system.String() + "/call-logs/" + id.String()
	h.apply(changed(phoneSystem(system, 1, "A"),
		transcript(system, id, 1, "completed", "Hello."), recording(system, id, "RE1", 1, "processing"))...)
	key := h.systemKey(system)
	h.expectOutcome(key, path, "404 NOT_FOUND")
	h.apply(changed(call(system, id, 1))...)
	shows := func(sid, duration any) {
		t.Helper()
		h.equalMembers("the call", h.mustGet(key, path), fields{
			"transcribedText": "Hello.", "transcriptionStatus": "completed", "recordingSid": sid, "recordingDuration": duration,
		})
	}
	shows("RE1", nil)
	h.apply(changed(recording(system, id, "RE1", 2, "ready"))...)
	shows("RE1", 189)
	h.apply(changed(recording(system, id, "RE1", 3, "unavailable"))...)
	shows(nil, nil)
}

// An event with an older version changes nothing, and neither does any event after a deletion.
func TestCallLog_LateEventsChangeNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system, deletedID, id := uuid.New(), uuid.New(), uuid.New()
	newer, older := call(system, id, 5), call(system, id, 4)
	newer.Status, older.Status = "busy", "failed"
	h.apply(changed(phoneSystem(system, 1, "A"), call(system, deletedID, 1), newer, older)...)
	key, logs := h.systemKey(system), "/"+system.String()+"/call-logs"
	h.expectJSON(key, logs+"/"+id.String(), "status", "busy")
	h.expectJSON(key, logs, "total", 2)
	h.apply(deleted(call(system, deletedID, 2)))
	h.apply(changed(call(system, deletedID, 3), transcript(system, deletedID, 1, "completed", "Late."))...)
	h.equalStrings("the calls", h.get(key, logs).ids(), []string{id.String()})
	h.expectOutcome(key, logs+"/"+deletedID.String(), "404 NOT_FOUND")
}

// Calls that precede their phone system appear with it.
func TestPhoneSystem_AppearsWithItsCalls(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := uuid.New()
	key, logs := h.systemKey(system), "/"+system.String()+"/call-logs"
	h.apply(changed(call(system, uuid.New(), 1))...)
	h.expectOutcome(key, logs, "404 NOT_FOUND")
	h.apply(changed(phoneSystem(system, 1, "A"))...)
	h.expectJSON(key, logs, "total", 1)
	h.apply(deleted(phoneSystem(system, 2, "")))
	h.expectOutcome(key, logs, "404 NOT_FOUND")
}

// A narrowed key follows the calls of its extension, and reads none after the extension's deletion.
func TestNarrowedKey_FollowsItsExtension(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system, extensionID, answered, moved := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	extension := &events.Extension{ID: extensionID, PhoneSystemID: system, Version: 1, Number: "101", Name: "Ana", Status: "active"}
	first, second := call(system, answered, 1), call(system, moved, 1)
	first.AnsweredByExtensionID, second.FromExtensionID = events.Some(extensionID), events.Some(extensionID)
	h.apply(changed(phoneSystem(system, 1, "A"), extension, first, second)...)
	key := h.issueKey(access.KeySpec{
		Grant: access.Grant{Kind: access.GrantSystem, ID: system}, OwnExtension: uuid.NullUUID{UUID: extensionID, Valid: true},
	})
	logs := "/" + system.String() + "/call-logs"
	h.expectJSON(key, logs, "total", 2)
	h.expectJSON(key, logs+"?pageSize=1&page=2", "data.#", 1)
	h.apply(changed(call(system, moved, 2))...)
	h.equalStrings("the extension's calls", h.get(key, logs).ids(), []string{answered.String()})
	extension.Version = 2
	h.apply(deleted(extension))
	h.expectJSON(key, logs, "total", 0)
	h.expectOutcome(key, logs+"/"+answered.String(), "404 NOT_FOUND")
}

// An answer has everything that was published before its Data-Complete-Through.
func TestDataCompleteThrough(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := uuid.New()
	h.apply(changed(phoneSystem(system, 1, "A"))...)
	key := h.systemKey(system)
	for published := 1; published <= 5; published++ {
		h.Publish(changed(call(system, uuid.New(), 1))...)
		at := time.Now()
		var a answer
		eventstest.Eventually(t, "the answer is complete through the publication", func() bool {
			a = h.get(key, "/"+system.String()+"/call-logs")
			through, err := time.Parse(time.RFC3339, a.header.Get("Data-Complete-Through"))
			if err != nil || through.After(time.Now()) {
				t.Fatalf("Data-Complete-Through = %s at %s: %v", through, time.Now(), err)
			}
			return through.After(at)
		})
		h.equalJSON("total", a.body["total"], published)
	}
}
