package ingest_test

import (
	"testing"

	"github.com/google/uuid"

	"callboard/events"
)

// A directory entry that PostgreSQL refuses becomes a dead letter, and changes no call.
func TestApplier_AnnouncesNoDeadLetter(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.exec("alter table projection.extension add constraint refuse check (name <> 'refused')")
	system, extension, refused := uuid.New(), uuid.New(), uuid.New()
	define := func(id uuid.UUID, name string) events.State {
		return &events.Extension{ID: id, PhoneSystemID: system, Version: 1, Number: "101", Name: name, Status: "active"}
	}
	for sid, id := range map[string]uuid.UUID{"CAdefined": extension, "CArefused": refused} {
		c := call(system, sid)
		c.FromExtensionID = events.Some(id)
		e.publish(c)
	}
	e.apply()
	before := e.queryInt("select max(extract(epoch from updated_at) * 1000)::bigint from call_log")
	e.publish(define(refused, "refused"), define(extension, "Desk"))
	e.apply()
	check(t, "dead letters", e.queryInt("select count(*) from control.dead_letter where sequence = 3"), 1)
	check(t, "announcements", e.queryInt("select count(*) from announcement"), 1)
	clock := int64(e.applier.Position.Clock.Now)
	check(t, "updatedAt of the call of the extension",
		e.queryInt("select (extract(epoch from updated_at) * 1000)::bigint from call_log where call_sid = 'CAdefined'"), clock)
	if at := e.queryInt("select (extract(epoch from updated_at) * 1000)::bigint from call_log where call_sid = 'CArefused'"); at > before {
		t.Errorf("updatedAt of the call of the refused extension = %d, want at most %d", at, before)
	}
}

// A phone system has more calls than are announced to in the transaction of the batch.
func TestApplier_AnnouncesToManyCalls(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	c := call(uuid.New(), "CA1")
	c.FromExtensionID = events.Some(uuid.New())
	e.publish(c)
	e.apply()
	e.exec(`insert into projection.call_log
		select (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid()))).* from projection.call_log as c, generate_series(1, 10000)`)
	e.publish(call(c.PhoneSystemID, "CA2"), &events.Extension{
		ID: c.FromExtensionID.Value, PhoneSystemID: c.PhoneSystemID, Version: 1, Number: "101", Name: "Desk", Status: "active",
	})
	e.apply()
	check(t, "calls that are updated with the entry", e.queryInt(`
		select count(*) from call_log as c join announcement as a on a.partition = c.partition and a.id = c.from_extension_id and a.at = c.updated_at`), 10_001)
	check(t, "commits", int64(len(e.committed)), 2)
	check(t, "sequence of the position", int64(e.applier.Position.Sequence), 3)
	check(t, "messages read in message_count", e.queryInt("select sum(read)::bigint from message_count"), 3)
}
