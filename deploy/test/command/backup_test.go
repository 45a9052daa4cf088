package command_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/readapi/access"
	"callboard/schema/schematest"
)

type backupJSON struct {
	Path    string
	Tables  []struct{ Name string }
	Streams []struct {
		Name         string
		LastSequence int64
	}
	Removed []string
}

type restoreJSON struct {
	Streams []struct {
		Name         string
		Restored     bool
		LastSequence int64
	}
	KeysEnded, KeysMissing []struct{ ID string }
}

// backupFixture is an installation with events, keys, dead letters and audit entries, and backups of it.
type backupFixture struct {
	rebuildFixture
	folder string // of the backups
}

func newBackupFixture(t *testing.T) backupFixture {
	t.Helper()
	f := backupFixture{newRebuildFixture(t, "100"), filepath.Join(t.TempDir(), "backups")}
	f.publishLargeTranscript()
	f.publishNoEvent()
	return f
}

// publishLargeTranscript publishes a transcript whose text is in the object store.
func (f backupFixture) publishLargeTranscript() {
	f.Helper()
	publisher := events.NewPublisher(eventstest.JetStream(f, f.nats.URL()), "test", events.MaxMessage(1000))
	err := publisher.Publish(f.Context(), events.Changed(&events.Transcript{
		PhoneSystemID: uuid.MustParse(systemID), CallID: events.Some(uuid.MustParse(ownCallID)), Version: 1,
		Status: events.TranscriptCompleted, Text: events.Some(strings.Repeat("hello", 1000)),
	}))
	if err != nil {
		f.Fatal(err)
	}
}

// backup writes a backup, as the operator's role.
func (f backupFixture) backup(args ...string) backupJSON {
	f.Helper()
	return succeedJSON[backupJSON](f, f.operator(), append([]string{"backup", f.folder}, args...)...)
}

// listKeys writes the list of keys, as an operator does at intervals. Every list is in a separate folder.
func (f backupFixture) listKeys() (file string) {
	f.Helper()
	dir := f.TempDir()
	for range 2 { // the second replaces the first
		succeed(f, f.operator(), "", "backup", dir, "--keys-only")
	}
	return filepath.Join(dir, "keys.json")
}

// replacement returns an installation with a new database and a new NATS, both as they are after the installation's
// first steps.
func (f backupFixture) replacement(t *testing.T) backupFixture {
	t.Helper()
	f.rebuildFixture = f.in(t)
	f.nats, f.database = eventstest.NewServer(f), schematest.New(f)
	f.pool = f.database.Pool(f)
	succeed(f, f.operator(), "", "stream", "create")
	return f
}

// digest returns the number and a digest of a table's rows of some phone systems, a list in SQL.
func (f backupFixture) digest(table, systems string) string {
	f.Helper()
	return f.queryText("select count(*) || ' ' || coalesce(md5(string_agg(r::text, E'\\n' order by r::text)), '') from projection." + table +
		" r where system_id in (" + systems + ")")
}

// The drill: a backup under live traffic; keys revoked, rolled and issued after it, and more events; then database
// and NATS are lost.
func TestBackup_Drill(t *testing.T) {
	old := newBackupFixture(t)
	old.startProjector()
	reader := old.startReader()
	old.waitUntilCaughtUp()
	systems := "'" + strings.Join(strings.Split(old.queryText("select string_agg(id::text, ',') from projection.phone_system"), ","), "','") + "'"
	system := old.firstSystem()
	issue := func(name string) keyWithID {
		return issueKey(old, old.operator(), system, "--name", name, "--scopes", "phones:read,calls:read")
	}
	kept, revoked, rolled := issue("kept"), issue("revoked"), issue("rolled")
	const discovery = "/customer/phone-systems"
	for _, k := range []keyWithID{kept, revoked, rolled} {
		expectStatus(t, reader.base+discovery, k.Key, http.StatusOK)
	}
	eventstest.Eventually(t, "the audit entries are stored", func() bool { return old.queryText("select count(*)::text from access.audit") == "3" })

	traffic := start(t, "callboard", old.operator(), "simulate", "--seed", "2", "--calls", "100000", "--rate", "300")
	before := old.storedEvents()
	eventstest.Eventually(t, "live traffic", func() bool { return old.storedEvents() > before })
	written := old.backup()
	last := written.Streams[0].LastSequence
	before = old.storedEvents()
	eventstest.Eventually(t, "live traffic after the backup", func() bool { return old.storedEvents() > before })
	traffic.Signal(os.Interrupt)
	traffic.Wait(3 * time.Minute)

	succeed(t, old.operator(), "", "keys", "revoke", revoked.ID)
	successor := succeedJSON[keyWithID](t, old.operator(), "keys", "roll", rolled.ID, "--overlap", "0s")
	late := issue("late")
	old.simulate("--systems", "1", "--calls", "20", "--seed", "3")
	old.waitUntilCaughtUp()
	keys := old.listKeys()

	old.nats.Stop()
	restored := old.replacement(t)
	restored.expect(2, "--keys or --accept-revoked is missing", "restore", written.Path)
	var done restoreJSON
	restored.decode(0, &done, "restore", written.Path, "--keys", keys)
	if got := idsOf(done.KeysEnded); !sameSet(got, revoked.ID, rolled.ID) {
		t.Errorf("keys ended again = %v, want the revoked %s and the rolled %s", got, revoked.ID, rolled.ID)
	}
	if got := idsOf(done.KeysMissing); !sameSet(got, successor.ID, late.ID) {
		t.Errorf("keys that are missing = %v, want the two that were issued after the backup: %s, %s", got, successor.ID, late.ID)
	}
	if done.Streams[0].LastSequence != last || !done.Streams[0].Restored || restored.lastSequence() != last {
		t.Errorf("restored stream = %+v, want it up to %d", done.Streams[0], last)
	}
	// No reader was ready yet, and the revoked key is refused from the first request on.
	reader = restored.startReader()
	for _, k := range []keyWithID{revoked, rolled, successor, late} {
		expectStatus(t, reader.base+discovery, k.Key, http.StatusUnauthorized)
	}
	restored.expect(0, `Generation \d+ is live: \d+ messages`, "rebuild")
	restored.startProjector()
	restored.waitUntilCaughtUp()
	expectStatus(t, reader.base+"/customer/phone-systems/"+system+"/call-logs", kept.Key, http.StatusOK)
	restored.expect(0, noDifferences, "verify")
	for _, table := range []string{"call_log", "transcript", "recording", "voicemail", "topology", "row_count"} {
		if got, want := restored.digest(table, systems), old.digest(table, systems); got != want {
			t.Errorf("rows of %s of phone systems without later events: %s, want %s", table, got, want)
		}
	}
	const decisions = "select string_agg(concat_ws(' ', sequence, reason, stored_at, state), E'\\n' order by sequence) from control.dead_letter"
	if got, want := restored.queryText(decisions), old.queryText(decisions); got != want {
		t.Errorf("dead letters = %s, want %s", got, want)
	}
	eventstest.Eventually(t, "the old key has its audit entries of before the backup and of after the restore", func() bool {
		return len(succeedJSON[[]json.RawMessage](t, restored.operator(), "keys", "audit", kept.ID)) == 2
	})
	restored.simulate("--systems", "1", "--calls", "5", "--seed", "4")
	restored.waitUntilCaughtUp()
}

// storedEvents returns how many messages the stream has, without clock messages.
func (f backupFixture) storedEvents() uint64 {
	f.Helper()
	stream, err := eventstest.JetStream(f, f.nats.URL()).Stream(f.Context(), events.StreamName)
	if err != nil {
		f.Fatal(err)
	}
	info, err := stream.Info(f.Context(), jetstream.WithSubjectFilter(events.ClockSubject))
	if err != nil {
		f.Fatal(err)
	}
	return info.State.Msgs - info.State.Subjects[events.ClockSubject]
}

func (f backupFixture) lastSequence() int64 {
	f.Helper()
	stream, err := eventstest.JetStream(f, f.nats.URL()).Stream(f.Context(), events.StreamName)
	if err != nil {
		f.Fatal(err)
	}
	return int64(stream.CachedInfo().State.LastSeq)
}

func idsOf(keys []struct{ ID string }) (ids []string) {
	for _, k := range keys {
		ids = append(ids, k.ID)
	}
	return ids
}

func sameSet(got []string, want ...string) bool {
	set := make(map[string]bool)
	for _, id := range want {
		set[id] = true
	}
	for _, id := range got {
		if !set[id] {
			return false
		}
		delete(set, id)
	}
	return len(set) == 0
}

func TestBackup(t *testing.T) {
	f := newBackupFixture(t)
	projector := f.startProjector()
	f.waitUntilCaughtUp()
	issueKey(f, f.operator(), systemID, "--name", "first", "--scopes", "calls:read")
	oldKeys := f.listKeys()
	issueKey(f, f.operator(), systemID, "--name", "second", "--scopes", "calls:read")
	keys := f.listKeys()
	written := f.backup()
	t.Run("only its owner may read it", func(t *testing.T) { checkModes(t, written.Path) })
	t.Run("older ones are removed", func(t *testing.T) { checkOlderRemoved(t, f, written.Path) })
	complete := f.backup()
	path, last := complete.Path, complete.Streams[0].LastSequence
	t.Run("into a database with rows", func(t *testing.T) {
		f.expect(1, `not empty: access.key has rows\nCreate a new database`, "restore", path, "--keys", keys)
	})
	t.Run("damaged", func(t *testing.T) { checkDamagedBackup(t, f, path, keys) })
	t.Run("another schema version", func(t *testing.T) {
		f.replacement(t).expect(1, "the backup has schema version 6, this release has", "restore", edited(t, path, `"schema": `, `"schema": 6, "was": `), "--keys", keys)
	})
	t.Run("an older list of keys", func(t *testing.T) {
		g := f.replacement(t)
		g.expect(1, "it lacks 1 keys", "restore", path, "--keys", oldKeys)
		g.expect(0, "Next: run 'callboard rebuild'", "restore", path, "--keys", keys)
	})
	t.Run("another stream", func(t *testing.T) {
		g := f.replacement(t)
		g.simulate("--systems", "1", "--calls", "1", "--seed", "9")
		g.expect(1, "the stream exists without the backup's messages: PHONES", "restore", path, "--keys", keys)
		if got := g.queryText("select count(*)::text from access.key"); got != "0" {
			t.Errorf("keys after a refused restore = %s, want 0", got)
		}
	})
	projector.StopCleanly(os.Interrupt)
	t.Run("the database was not lost", func(t *testing.T) { checkStreamsOnly(t, f, path, last) })
}

func checkModes(t *testing.T, path string) {
	t.Helper()
	err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %s = %o, want %o", name, got, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func checkOlderRemoved(t *testing.T, f backupFixture, oldest string) {
	t.Helper()
	unfinished, foreign := filepath.Join(f.folder, "20200102T030405.678Z.partial"), filepath.Join(f.folder, "notes")
	for _, dir := range []string{unfinished, foreign} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	second := f.backup("--keep", "2")
	third := f.backup("--keep", "2")
	if !sameSet(second.Removed, filepath.Base(unfinished)) || !sameSet(third.Removed, filepath.Base(oldest)) {
		t.Errorf("removed = %v, then %v, want the unfinished one, then the oldest", second.Removed, third.Removed)
	}
	for name, want := range map[string]bool{unfinished: false, oldest: false, foreign: true, second.Path: true, third.Path: true} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s: error = %v, want it to exist: %t", name, err, want)
		}
	}
}

func checkDamagedBackup(t *testing.T, f backupFixture, path, keys string) {
	t.Helper()
	g := f.replacement(t)
	for _, name := range []string{"access.key.copy", "PHONES.snapshot"} {
		damaged := edited(t, path, "", "")
		file := filepath.Join(damaged, name)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text[len(text)/2] ^= 1
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		g.expect(1, name+" is damaged", "restore", damaged, "--keys", keys)
	}
	g.expect(1, "has no manifest.json", "restore", filepath.Dir(path), "--keys", keys)
	g.expect(1, "is not in the backup's folder", "restore", edited(t, path, `"access.key.copy"`, `"../access.key.copy"`), "--keys", keys)
	if got := g.queryText("select count(*)::text from access.key"); got != "0" || g.lastSequence() != 0 {
		t.Errorf("keys = %s, last sequence = %d after refused restores, want 0 and 0", got, g.lastSequence())
	}
}

// edited returns a copy of a backup with a text of its manifest replaced.
func edited(t *testing.T, path, old, replacement string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(dir, "manifest.json")
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(old)) {
		t.Fatalf("the manifest has no %s: %s", old, text)
	}
	if err := os.WriteFile(manifest, bytes.Replace(text, []byte(old), []byte(replacement), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A database that is there with a stream that is lost: the stream comes back alone.
func checkStreamsOnly(t *testing.T, f backupFixture, path string, want int64) {
	t.Helper()
	g := f.replacement(t)
	g.database, g.pool = f.database, f.pool
	g.expect(0, `\nPHONES +true +\d+\n(.*\n)*The database was left as it is`, "restore", path, "--streams-only", "--replicas", "1")
	if got := g.lastSequence(); got != want {
		t.Errorf("last sequence = %d, want %d", got, want)
	}
	g.startProjector()
	eventstest.Eventually(t, "the partitions stop", func() bool { return shows(t, g.operator(), "STREAM_", "status") })
	g.expect(0, `Generation \d+ is live`, "rebuild")
	g.waitUntilCaughtUp()
	g.expect(0, noDifferences, "verify")
}

// Where the stream of key revocations and expiries is still there, a restored database has no key alive that was
// revoked or rolled after the backup, also without a list of keys.
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
		"Keys that are ended again:\n", "\n" + revoked.ID + "  revoked  20", "\n" + rolled.ID + "  rolled   -  ", "work again, except for those above",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("restore: output = %s, want it to contain %q", out, want)
		}
	}
	for key, want := range map[keyWithID]string{revoked: "revoked", rolled: "expired", live: "active"} {
		if shown := succeedJSON[access.Record](t, f.operator(), "keys", "show", key.ID); string(shown.State) != want {
			t.Errorf("key %s: state = %s, want %s", key.ID, shown.State, want)
		}
	}
}
