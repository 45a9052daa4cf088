package scenario_test

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"callboard/events"
)

func phoneSystem(id uuid.UUID, version int64, name string) *events.PhoneSystem {
	return &events.PhoneSystem{ID: id, Version: version, Name: name}
}

func call(system, id uuid.UUID, version int64) *events.Call {
	return &events.Call{
		ID: id, PhoneSystemID: system, Version: version, CallSid: "CA" + strings.ReplaceAll(id.String(), "-", ""), Direction: "inbound",
		Status: "completed", Outcome: events.Some("answered"), From: events.Some("+14155550123"), FromName: events.Some("Zoë Marsh"), To: events.Some("+14155550100"),
		CreatedAt: events.TimeOf(time.Date(2026, 3, 2, 9, 30, 0, 987_654_321, time.UTC)), Duration: events.Some[int64](190),
	}
}

func transcript(system, call uuid.UUID, version int64, status, text string) *events.Transcript {
	t := &events.Transcript{PhoneSystemID: system, CallID: events.Some(call), Version: version, Status: status}
	if text != "" {
		t.Text = events.Some(text)
	}
	return t
}

func recording(system, call uuid.UUID, sid string, version int64, status string) *events.Recording {
	r := &events.Recording{
		RecordingSid: sid, PhoneSystemID: system, CallID: events.Some(call), Version: version, Status: status,
		CreatedAt: events.TimeOf(time.Date(2026, 3, 2, 9, 33, 0, 0, time.UTC)),
	}
	if status == events.RecordingReady {
		r.Audio = &events.Audio{Key: "a.wav", ContentType: "audio/wav", Bytes: 1}
		r.DurationSeconds = events.Some[int64](189)
	}
	return r
}

func changed(states ...events.State) []events.Event {
	list := make([]events.Event, len(states))
	for i, state := range states {
		list[i] = events.Changed(state)
	}
	return list
}

// deleted returns the deletion of a state's entity at its version.
func deleted(state events.State) events.Event { return events.Deleted(state.Identity()) }
