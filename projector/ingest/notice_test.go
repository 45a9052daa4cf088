package ingest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/ingest"
)

// register makes the projector record notices.
func (e *env) register() {
	e.t.Helper()
	e.exec(`insert into webhook.endpoint (id, name, url, kinds, grant_kind, grant_id, state)
		values (gen_random_uuid(), 'n', 'https://example.com', '{call.ended}', 'system', gen_random_uuid(), 'active')`)
}

// notices returns all notices as texts, in the order of their positions.
func (e *env) notices() []string {
	e.t.Helper()
	rows, _ := e.owner.Query(e.t.Context(), `
		select concat_ws(' ', sequence, ordinal, kind, id, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at, traceparent)
		from webhook.notice
		order by sequence, ordinal`)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		e.t.Fatal(err)
	}
	return list
}

// refold folds all messages into empty tables.
func (e *env) refold() {
	e.t.Helper()
	e.database.ClearProjection(e.t)
	e.exec("delete from projection.position")
	e.applier.Position = claim(e.t, e.applier.Store, e.stream)
	e.apply()
}

func endedCall(version int64) *events.Call {
	return &events.Call{
		ID: uuid.MustParse("0b9f2f0e-91a6-4c0e-8f6c-2d7d0f1f6a01"), PhoneSystemID: uuid.MustParse("7d0d9a34-3a52-4cb0-a7e5-0c1f0a8c5b11"),
		Version: version, CallSid: "CA00000000000000000000000000000001", Direction: "inbound", Status: "completed", From: events.Some("+15550001"), To: events.Some("+15550002"),
	}
}

// Without an endpoint nothing is written. With one, notices are written with the rows, and the floor with them.
func TestApply_WritesNotices(t *testing.T) {
	e := newEnv(t)
	call := endedCall(1)
	e.publish(&events.PhoneSystem{ID: call.PhoneSystemID, Version: 1, Name: "A"}, call)
	e.apply()
	if floors := e.queryInt("select count(*) from webhook.floor"); floors != 0 || len(e.notices()) != 0 {
		t.Errorf("floors = %d, notices = %q without an endpoint, want none", floors, e.notices())
	}
	e.register()
	voicemail := &events.Voicemail{
		ID: uuid.New(), PhoneSystemID: call.PhoneSystemID, Version: 7, CallSid: call.CallSid, From: events.Some("+15550001"), RecordingSid: "RE1",
	}
	e.publish(&events.Transcript{
		PhoneSystemID: call.PhoneSystemID, Version: 1, VoicemailID: events.Some(voicemail.ID), Status: events.TranscriptCompleted, Text: events.Some("t"),
	}, endedCall(2))
	e.apply()
	if got := e.notices(); len(got) != 0 {
		t.Errorf("notices of a transcript without its voicemail = %q, want none", got)
	}
	e.publish(voicemail)
	e.apply()
	written := e.committed[len(e.committed)-1].Notices
	if len(written) != 2 || written[0].Sequence != 5 || written[1].Data.VoicemailID != voicemail.ID {
		t.Errorf("notices = %v, want a transcript and a voicemail at sequence 5", written)
	}
	if n := e.queryInt("select sequence from webhook.floor"); n != 5 {
		t.Errorf("floor = %d, want 5", n)
	}
	got := e.notices()
	if len(got) != 2 || !strings.HasPrefix(got[0], "5 0 call.transcription.completed evt_") ||
		!strings.HasPrefix(got[1], "5 1 voicemail.created evt_") {
		t.Errorf("notices = %q, want a transcript and a voicemail at sequence 5", got)
	}
}

// A fold from the first message on tells nothing again. After lost commits, it tells the same.
func TestApply_TellsNothingTwice(t *testing.T) {
	e := newEnv(t)
	e.register()
	e.publish(endedCall(1), &events.Analysis{
		ID: uuid.New(), PhoneSystemID: endedCall(1).PhoneSystemID, Version: 1, CallID: endedCall(1).ID, CallSid: endedCall(1).CallSid,
		Status: events.AnalysisCompleted,
	})
	e.apply()
	first := e.notices()
	if len(first) != 2 {
		t.Fatalf("notices = %q, want 2", first)
	}
	e.refold()
	if got := e.notices(); !slices.Equal(got, first) {
		t.Errorf("notices after a fold from the first message on = %q, want %q", got, first)
	}
	if c := e.committed[len(e.committed)-1]; len(c.Notices) != 0 {
		t.Errorf("notices of the commit = %v, want none: they are below the floor", c.Notices)
	}
	e.exec("delete from webhook.notice; delete from webhook.floor") // with the rows, as a server does that loses its last commits
	e.refold()
	if got := e.notices(); !slices.Equal(got, first) {
		t.Errorf("notices after lost commits = %q, want %q", got, first)
	}
	replay := *e.applier
	replay.Replay = new(ingest.Replay)
	e.exec("delete from webhook.notice; delete from webhook.floor")
	e.applier = &replay
	e.refold()
	if got := e.notices(); len(got) != 0 {
		t.Errorf("notices of a replay = %q, want none", got)
	}
}
