package main

import (
	"path/filepath"
	"strings"
	"testing"

	"callboard/schema/schematest"
)

// Where the stream of key revocations and expiries is still there, a restored database has no key alive that was revoked or rolled after the
// backup, also without a list of keys.
func TestRestore_EndsKeysOfTheJournal(t *testing.T) {
	f := newFleet(t)
	issue := func(name string) keyWithID {
		return issueKey(f, f.operator(), systemID, "--name", name, "--scopes", "calls:read")
	}
	revoked, rolled, live := issue("revoked"), issue("rolled"), issue("live")
	dir := t.TempDir()
	succeed(t, f.operator(), "", "backup", dir)
	backups, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(backups) != 1 {
		t.Fatalf("backups = %v, %v, want one", backups, err)
	}
	succeed(t, f.operator(), "", "keys", "revoke", revoked.ID)
	succeed(t, f.operator(), "", "keys", "roll", rolled.ID, "--overlap", "0s")
	late := issue("late")
	succeed(t, f.operator(), "", "keys", "revoke", late.ID)
	f.database = schematest.New(t)
	f.pool = f.database.Pool(t)
	out := succeed(t, f.owner(), "", "restore", backups[0], "--accept-revoked")
	for _, want := range []string{
		"Key " + revoked.ID + " revoked: revoked again, as of ", "Key " + rolled.ID + " rolled: ends again at ", "work again, except for those above",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("restore: output = %s, want it to contain %q", out, want)
		}
	}
	for key, want := range map[keyWithID]string{revoked: "revoked", rolled: "expired", live: "active"} {
		if shown := succeedJSON[keyRecord](t, f.operator(), "keys", "show", key.ID); shown.State != want {
			t.Errorf("key %s: state = %s, want %s", key.ID, shown.State, want)
		}
	}
}
