package main

import (
	"testing"

	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

func TestStreamAdopt(t *testing.T) {
	f := newRebuildFixture(t, "50")
	f.startProjector()
	f.waitUntilCaughtUp()
	f.expect(1, `error: stream NOBODY: nats: API error: .*stream not found`, "stream", "adopt", "NOBODY")
	expect(t, f.operator(), 0, `^Mirror PHONES2 of PHONES: created\.\n$`, "stream", "mirror", "PHONES2", "--replicas", "1")
	expect(t, f.operator(), 0, `^Mirror PHONES2 of PHONES: exists already\.\n$`, "stream", "mirror", "PHONES2")
	expect(t, f.operator(), 1, `must run as the schemas' owner`, "stream", "adopt", "PHONES2", "--quick")
	expect(t, f.operator(), 0, `^Stream PHONES is safe\.\n$`, "stream", "check") // it takes events again
	f.expect(0, `^No differences: \d+ rows in \d+ tables compared\.\nStream PHONES2 is read in place of PHONES from now on, from message \d+\. `+
		`No event could be published for \d+ ms\.\nSet CALLBOARD_STREAM to PHONES2\..* PHONES is not needed any more\.\n$`, "stream", "adopt", "PHONES2")
	f.expect(0, `^Stream PHONES2 is read already\.\n$`, "stream", "adopt", "PHONES2")
	expect(t, f.operator(), 1, `^stream PHONES is closed: .*\n$`, "stream", "check")
	f.simulate("--systems", "2", "--calls", "20", "--seed", "5")
	eventstest.Eventually(t, "no lag", func() bool {
		report := succeedJSON[struct {
			Stream     string
			Partitions []struct{ LagEvents int }
		}](t, f.operator(), "status")
		lag := 0
		for _, p := range report.Partitions {
			lag += p.LagEvents
		}
		return report.Stream == "PHONES2" && lag == 0
	})
	f.expect(0, noDifferences, "verify")
	checkBackupOfAdopted(t, backupFixture{f.in(t), t.TempDir()})
}

// checkBackupOfAdopted restores a backup of an adopted stream. The restored database knows it by the name that programs may still be
// configured with, too.
func checkBackupOfAdopted(t *testing.T, f backupFixture) {
	t.Helper()
	written := f.backup()
	restored := backupFixture{f.in(t), f.folder}
	restored.nats, restored.database = eventstest.NewServer(t), schematest.New(t)
	restored.pool = restored.database.Pool(t)
	succeed(t, restored.operator(), "", "stream", "create", "--stream", "PHONES2")
	restored.expect(0, "", "restore", written.Path, "--accept-revoked")
	restored.expect(0, "", "rebuild", "--stream", "PHONES")
	restored.startProjector()
	restored.simulate("--systems", "1", "--calls", "10", "--seed", "6", "--stream", "PHONES2")
	eventstest.Eventually(t, "the new events are applied", func() bool {
		return restored.queryText("select bool_and(watermark > now() - interval '1 minute')::text from projection.position") == "true"
	})
	restored.expect(0, noDifferences, "verify")
}
