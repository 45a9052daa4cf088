package command_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"callboard/events"
	"callboard/events/eventstest"
)

// journalEntries returns the entries of the stream of key revocations and expiries, by key.
func (f *fleet) journalEntries() map[string]events.KeyEnd {
	f.Helper()
	var reader events.KeyEndReader
	entries := map[string]events.KeyEnd{}
	_, err := reader.Read(f.Context(), eventstest.JetStream(f, f.nats.URL()), func(list []events.KeyEnd) error {
		for _, e := range list {
			entries[e.ID.String()] = e
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return entries
}

// Revocations and rolls are in NATS as in the database when the command has ended. Without NATS they take effect,
// and the command says what is missing.
func TestKeys_Record(t *testing.T) {
	f := newFleet(t)
	issue := func(name string) keyWithID {
		return issueKey(f, f.operator(), systemID, "--name", name, "--scopes", "calls:read")
	}
	revoked, rolled, unrecorded, unrecordedRoll, live := issue("revoked"), issue("rolled"), issue("unrecorded"), issue("unrecorded roll"), issue("live")
	discovery := f.startReader().base + "/customer/phone-systems"
	check := func(key keyWithID, recorded bool) {
		t.Helper()
		e, found := f.journalEntries()[key.ID]
		if found != recorded {
			t.Errorf("key %s: recorded = %t, want %t", key.ID, found, recorded)
		}
		shown := succeedJSON[keyRecord](t, f.operator(), "keys", "show", key.ID)
		if found && !e.Same(events.KeyEnd{ID: e.ID, RevokedAt: shown.RevokedAt, ExpiresAt: shown.ExpiresAt}) {
			t.Errorf("entry = %+v, want the ends of %+v", e, shown)
		}
	}
	succeed(t, f.operator(), "", "keys", "roll", rolled.ID)
	check(rolled, true)
	succeed(t, f.operator(), "", "keys", "revoke", rolled.ID)
	succeed(t, f.operator(), "", "keys", "revoke", revoked.ID)
	check(rolled, true)
	check(revoked, true)

	f.nats.Stop()
	r := command(t, f.operator(), "", "keys", "revoke", unrecorded.ID)
	if r.code != 1 || r.out != "" || !strings.Contains(r.err, "is revoked in the database, but that is not recorded in stream KEYS") ||
		!strings.Contains(r.err, "Run the command again") {
		t.Errorf("keys revoke without NATS: exit code = %d, output = %s%s", r.code, r.out, r.err)
	}
	expectStatus(t, discovery, unrecorded.Key, http.StatusUnauthorized)
	r = command(t, f.operator(), "", "keys", "roll", unrecordedRoll.ID)
	if r.code != 1 || !regexp.MustCompile(`sk_phones_\w{60,}`).MatchString(r.out) || !strings.Contains(r.err, "run 'callboard keys revoke "+unrecordedRoll.ID+"'") {
		t.Errorf("keys roll without NATS: exit code = %d, %d bytes of output, error = %s, want 1, the new key and advice", r.code, len(r.out), r.err)
	}
	f.nats.Start()
	check(unrecorded, false)
	succeed(t, f.operator(), "", "keys", "revoke", unrecorded.ID)
	check(unrecorded, true)
	check(unrecordedRoll, false)
	succeed(t, f.operator(), "", "keys", "revoke", unrecordedRoll.ID)
	check(unrecordedRoll, true)
	check(live, false)
}

// Commands that end no key need no NATS. Those that do say why they need it.
func TestKeys_WithoutNATS(t *testing.T) {
	f := newFleet(t)
	env := f.operator()
	delete(env, "CALLBOARD_NATS_URL")
	key := issueKey(f, env, systemID, "--name", "test", "--scopes", "calls:read")
	succeed(t, env, "", "keys", "list")
	succeed(t, env, "", "keys", "show", key.ID)
	for _, args := range [][]string{{"revoke", key.ID}, {"roll", key.ID}} {
		r := command(t, env, "", append([]string{"keys"}, args...)...)
		if r.code != 2 || r.out != "" || !strings.Contains(r.err, "CALLBOARD_NATS_URL") {
			t.Errorf("keys %v: exit code = %d, output = %s%s, want 2 and the setting", args, r.code, r.out, r.err)
		}
	}
	if shown := succeedJSON[keyRecord](t, env, "keys", "show", key.ID); shown.State != "active" {
		t.Errorf("state = %s, want active", shown.State)
	}
}

// Without the stream, a key is revoked in the database, and the command says how to create the stream.
func TestKeys_WithoutTheJournal(t *testing.T) {
	f := newFleet(t)
	key := issueKey(f, f.operator(), systemID, "--name", "test", "--scopes", "calls:read")
	if err := eventstest.JetStream(t, f.nats.URL()).DeleteStream(t.Context(), events.KeyStream); err != nil {
		t.Fatal(err)
	}
	expect(t, f.operator(), 1, `(?s)not recorded in stream KEYS: .*run 'callboard stream create'`, "keys", "revoke", key.ID)
	if shown := succeedJSON[keyRecord](t, f.operator(), "keys", "show", key.ID); shown.State != "revoked" {
		t.Errorf("state = %s, want revoked", shown.State)
	}
	expect(t, f.operator(), 0, `KEYS_JOURNAL_MISSING: .*run 'callboard stream create'`, "status")
	succeed(t, f.operator(), "", "stream", "create")
	if out := succeed(t, f.operator(), "", "status"); strings.Contains(out, "KEYS_JOURNAL_MISSING") ||
		!strings.Contains(out, "PostgreSQL: timeline 1; synchronous standbys: none: after a failover, keys that were revoked in its last moments work for some seconds") {
		t.Errorf("status: output = %s, want no problem, and the server", out)
	}
	succeed(t, f.operator(), "", "keys", "revoke", key.ID)
}
