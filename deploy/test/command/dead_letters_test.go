package command_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events"
	"callboard/events/eventstest"
)

// deadLetterJSON is the JSON of a dead letter, or of a result.
type deadLetterJSON struct {
	ID                     int64
	State, Reason, Subject string
	Data                   []byte
	Header                 map[string][]string
	Advice                 string
	AlreadyResolved        bool
}

// deadLettersFixture runs an operator's commands about dead letters.
type deadLettersFixture struct{ *fleet }

func (f deadLettersFixture) in(t *testing.T) deadLettersFixture {
	t.Helper()
	return deadLettersFixture{f.fleet.in(t)}
}

func (f deadLettersFixture) run(args ...string) result {
	f.Helper()
	return command(f, f.operator(), "", append([]string{"dead-letters"}, args...)...)
}

func (f deadLettersFixture) expect(code int, pattern string, args ...string) {
	f.Helper()
	expect(f, f.operator(), code, pattern, append([]string{"dead-letters"}, args...)...)
}

// decode decodes the JSON of a command, whatever its exit code.
func (f deadLettersFixture) decode(v any, args ...string) {
	f.Helper()
	r := f.run(append(args, "--json")...)
	if err := json.Unmarshal([]byte(r.out), v); err != nil {
		f.Fatalf("dead-letters %v: %v: %s%s", args, err, r.out, r.err)
	}
}

func (f deadLettersFixture) list(args ...string) []deadLetterJSON {
	f.Helper()
	var page struct{ DeadLetters []deadLetterJSON }
	f.decode(&page, append([]string{"list"}, args...)...)
	return page.DeadLetters
}

// publish publishes a message without checking it.
func (f deadLettersFixture) publish(subject, eventType, data string) {
	f.Helper()
	m := &nats.Msg{Subject: subject, Data: []byte(data), Header: nats.Header{
		"ce-specversion": {"1.0"}, "ce-id": {uuid.NewString()}, "ce-source": {"test"}, "ce-type": {eventType}, "Content-Type": {"application/json"},
	}}
	if _, err := eventstest.JetStream(f, f.nats.URL()).PublishMsg(f.Context(), m); err != nil {
		f.Fatal(err)
	}
}

// waitForOpen waits until n dead letters are open, and returns them.
func (f deadLettersFixture) waitForOpen(n int) (list []deadLetterJSON) {
	f.Helper()
	eventstest.Eventually(f, strconv.Itoa(n)+" open dead letters", func() bool {
		list = f.list()
		return len(list) == n
	})
	return list
}

const transcriptText = `{"text":"hello","turns":[]}`

// publishTranscript publishes a transcript whose text is not in the object store yet.
func (f deadLettersFixture) publishTranscript(call string) {
	f.Helper()
	f.publish("phones."+systemID+".transcript", "callboard.transcript.changed", `{"callId":"`+call+`","phoneSystemId":"`+systemID+
		`","version":1,"status":"completed","object":{"bucket":"PHONE_TRANSCRIPTS","name":"late","bytes":27,"digest":"SHA-256=E6woHc0OgyHRoJMPx61wlW3yvhYUMLPIa7cQKFMvUuE="}}`)
}

// storeTranscript stores the text of the published transcript.
func (f deadLettersFixture) storeTranscript() {
	f.Helper()
	bucket, err := eventstest.JetStream(f, f.nats.URL()).ObjectStore(f.Context(), events.TranscriptBucket)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := bucket.PutString(f.Context(), "late", transcriptText); err != nil {
		f.Fatal(err)
	}
}

// TestDeadLetters lists, shows, retries and drops four dead letters: a transcript without its text, an invalid
// call, a body that is not JSON, and a message of the audit stream.
func TestDeadLetters(t *testing.T) {
	f := deadLettersFixture{newFleet(t)}
	f.expect(0, `^None\.\n\n0 open, of which 0 waiting for a retry\.\n$`, "list")
	f.expect(0, `^None\.\n`, "list", "--all")
	f.expect(0, `^No dead letters\.\n$`, "retry", "--all")
	projector := f.startProjector()
	succeed(t, f.operator(), fixtureLines(), "publish", "-")
	const calls = "phones." + systemID + ".call"
	f.publishTranscript(ownCallID)
	f.publish(calls, "callboard.call.changed", `{"note":"\u0000`+"\u202e\u009b31m"+strings.Repeat("é", 4000)+`"}`)
	f.publish(calls, "callboard.call.changed", "\x1b[31mno JSON\xff")
	f.waitForOpen(3)
	f.publish(events.AuditSubject, "", "nonsense") // published last, so that it is the last in the list
	var ids []string
	for _, l := range f.waitForOpen(4) {
		ids = append(ids, strconv.FormatInt(l.ID, 10))
	}
	t.Run("list", func(t *testing.T) { checkDeadLettersListed(t, f.in(t), ids) })
	t.Run("show", func(t *testing.T) { checkDeadLettersShown(t, f.in(t), ids) })
	t.Run("refused", func(t *testing.T) { checkDeadLettersRefused(t, f.in(t), ids) })
	t.Run("retry", func(t *testing.T) { checkDeadLettersRetried(t, f.in(t), ids, projector) })
	t.Run("drop", func(t *testing.T) { checkDeadLettersDropped(t, f.in(t), ids) })
}

func checkDeadLettersListed(t *testing.T, f deadLettersFixture, ids []string) {
	t.Helper()
	f.expect(0, `^id +storedAt +subject +sequence +state +reason\n`+ids[0]+` +\d{4}-\S+Z +phones\.\d+\.`+systemID+`\.transcript +\d+ +open +/object: its entry can't be read(?s:.*)\n4 open, of which 0 waiting for a retry\.\n$`, "list")
	if r := f.run("list", "--limit", "1"); !strings.HasSuffix(r.out, "\n4 open, of which 0 waiting for a retry.\n") || !strings.Contains(r.err, "Only the oldest 1 are listed") {
		t.Errorf("list --limit 1: output = %s%s, want 4 open and a note", r.out, r.err)
	}
}

// Control characters of the data reach no terminal.
func checkDeadLettersShown(t *testing.T, f deadLettersFixture, ids []string) {
	t.Helper()
	f.expect(0, `(?s)state +open\n.*reason +/object: its .*advice +The transcript's text is not .*header +ce-type: callboard.transcript.changed\n.*Data, \d+ bytes:\n{\n  "callId": "`, "show", ids[0])
	f.expect(0, `(?s)"note": "\\u0000\\u202e\\u009b31mé+\n\.\.\. and \d+ more characters; --json shows all, in base64\n$`, "show", ids[1])
	f.expect(0, `(?s)\nData, 13 bytes:\n\\x1b\[31mno JSON\\xff\n$`, "show", ids[2])
	const data = "\x1b[31mno JSON\xff"
	var shown deadLetterJSON
	f.decode(&shown, "show", ids[2])
	if string(shown.Data) != data || shown.Header["ce-type"][0] != "callboard.call.changed" || shown.Advice == "" || shown.State != "open" {
		t.Errorf("show --json: %+v, want data, headers, advice and state", shown)
	}
}

func checkDeadLettersRefused(t *testing.T, f deadLettersFixture, ids []string) {
	t.Helper()
	f.expect(1, `^error: no dead letter has the ID 4711\nRun 'callboard dead-letters list --all' to list all dead letters\n$`, "drop", ids[0], "4711")
	f.expect(1, `dead letter `+ids[3]+` can't be retried: it is of the audit stream, `, "retry", ids[0], ids[3])
	for _, args := range [][]string{{"retry"}, {"retry", ids[0], "--all"}, {"drop"}, {"list", "--limit", "0"}} {
		expectUsageErrors(t, f.operator(), append([]string{"dead-letters"}, args...))
	}
	for _, l := range f.list() {
		if l.State != "open" {
			t.Errorf("dead letter = %+v, want it open", l)
		}
	}
}

func checkDeadLettersRetried(t *testing.T, f deadLettersFixture, ids []string, projector *daemon) {
	t.Helper()
	f.expect(1, `(?s)^id +state +alreadyResolved +reason\n\d+ +open +false .*\nNot retryable: 1 of the audit stream, whose messages are never retried\.\n$`, "retry", "--all", "--timeout", "5m")
	f.storeTranscript()
	f.expect(1, `\n`+ids[0]+` +applied +false +-\n`+ids[1]+` +open +false +/id: is required`, "retry", ids[0], ids[1], "--timeout", "5m")
	f.expect(0, `\n`+ids[0]+` +applied +true `, "retry", ids[0])
	f.expect(0, `There is nothing to do`, "show", ids[0])
	f.expect(0, `tries +2\nfailedAt +\d`, "show", ids[1])
	projector.StopCleanly(os.Interrupt)
	eventstest.Eventually(t, "no partition has an owner", func() bool {
		return f.queryText("select count(*)::text from control.partition_owner") == "0"
	})
	f.expect(1, `\n`+ids[1]+` +waiting +false +\w.*\n$`, "retry", ids[1], "--timeout", "500ms")
	checkRetryInterrupted(f, ids[1])
	f.expect(0, `\n3 open, of which 1 waiting for a retry\.`, "list")
	f.expect(0, `state +waiting\n(?s:.*)retriedAt +\d`, "show", ids[1])
	f.startProjector()
	eventstest.Eventually(t, "no dead letter waits", func() bool { return strings.Contains(f.run("list").out, "of which 0 waiting") })
	var done struct{ Results []deadLetterJSON }
	f.decode(&done, "retry", ids[0], ids[1], "--timeout", "5m")
	if r := done.Results; len(r) != 2 || r[0].State != "applied" || !r[0].AlreadyResolved || r[1].State != "open" || r[1].Reason == "" {
		t.Errorf("results = %+v, want one applied before, and one open with its reason", r)
	}
}

// checkRetryInterrupted interrupts a retry after it has shown its progress.
func checkRetryInterrupted(f deadLettersFixture, id string) {
	f.Helper()
	retry := start(f, "callboard", f.operator(), "dead-letters", "retry", id, "--timeout", "5m")
	eventstest.Eventually(f, "the retry shows that it waits", func() bool { return retry.Err.Contains("waiting for the projectors") })
	if code := retry.Stop(os.Interrupt); code != 1 || !retry.Err.Contains("error: interrupted\nPublished again before: 1 dead letters.") {
		f.Errorf("exit code = %d, errors = %s, want 1 and interrupted", code, retry.Err)
	}
}

func checkDeadLettersDropped(t *testing.T, f deadLettersFixture, ids []string) {
	t.Helper()
	f.expect(0, `\n`+ids[2]+` +dropped +false [^\n]+\n$`, "drop", ids[2])
	f.expect(0, `\n`+ids[0]+` +applied +true [^\n]+\n`+ids[1]+` +dropped +false [^\n]+\n`+ids[3]+` +dropped +false [^\n]+\n$`, "drop", ids[0], ids[1], ids[3])
	f.expect(0, `^None\.\n`, "list")
	if list := f.list("--all"); len(list) != 4 {
		t.Errorf("list --all: %+v, want 4", list)
	}
}

// A partition stops at a call that PostgreSQL refuses. Skipped, the call is a dead letter in a rebuild, too, until
// a retry applies it.
func TestDeadLetters_Skip(t *testing.T) {
	f := deadLettersFixture{newFleet(t)}
	f.exec("create function public.refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$")
	f.exec(`create trigger refuse before insert on projection.call_log for each row when (new.id = '` + otherCallID + `')
		execute function public.refuse()`)
	f.startProjector()
	succeed(t, f.operator(), fixtureLines(), "publish", "-")
	eventstest.Eventually(t, "the call before the refused one", func() bool {
		return f.queryText("select count(*)::text from projection.call_log") == "1"
	})
	partitions, err := strconv.Atoi(f.queryText("select partitions::text from control.stream"))
	if err != nil {
		t.Fatal(err)
	}
	partition := strconv.Itoa(events.Partition(uuid.MustParse(systemID), partitions))

	var skipped struct {
		ID, Sequence int64
		Subject      string
	}
	f.decode(&skipped, "skip", partition)
	if skipped.Sequence != 4 || !strings.HasSuffix(skipped.Subject, systemID+".call") {
		t.Errorf("skipped = %+v, want message 4, a call", skipped)
	}
	f.waitUntilCaughtUp()
	f.expect(1, `no message was skipped: the stream has none above the position(?s:.*)callboard status`, "skip", partition)
	succeed(t, f.owner(), "", "rebuild") // its tables have no trigger
	id := strconv.FormatInt(skipped.ID, 10)
	f.expect(0, `skipped by an operator(?s:.*)a retry applies`, "show", id)
	if calls := f.queryText("select count(*)::text from projection.call_log"); calls != "1" {
		t.Errorf("calls after the rebuild = %s, want 1", calls)
	}
	f.expect(0, `\n`+id+` +applied +false +-\n$`, "retry", id)
}
