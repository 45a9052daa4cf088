package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events"
	"callboard/events/audit"
	"callboard/events/eventstest"
)

// letter is what a command says of a dead letter in JSON.
type letter struct {
	ID                     int64
	State, Reason, Subject string
	Data                   []byte
	Header                 map[string][]string
	Advice                 string
	Untouched              bool
}

// lettersFleet is a fleet with an operator who looks after dead letters.
type lettersFleet struct{ *fleet }

// in is the fleet in a test within its own.
func (f lettersFleet) in(t *testing.T) lettersFleet {
	t.Helper()
	own := *f.fleet
	own.T = t
	return lettersFleet{&own}
}

func (f lettersFleet) operator(args ...string) result {
	f.Helper()
	return command(f, f.env("callboard_operator"), "", append([]string{"dead-letters"}, args...)...)
}

func (f lettersFleet) says(code int, want string, args ...string) {
	f.Helper()
	r := f.operator(args...)
	if r.code != code || !regexp.MustCompile(want).MatchString(r.out+r.err) {
		f.Errorf("%v: exit %d, want %d with %s:\n%s%s", args, r.code, code, want, r.out, r.err)
	}
	if testing.Verbose() {
		f.Logf("$ callboard dead-letters %s\n%s%s", strings.Join(args, " "), r.out, r.err)
	}
}

func (f lettersFleet) list(args ...string) (list []letter) {
	f.Helper()
	var page struct{ Letters []letter }
	f.decode(&page, append([]string{"list"}, args...)...)
	return page.Letters
}

func (f lettersFleet) decode(v any, args ...string) {
	f.Helper()
	r := f.operator(append(args, "--json")...)
	if err := json.Unmarshal([]byte(r.out), v); err != nil {
		f.Fatalf("%v: %v: %s%s", args, err, r.out, r.err)
	}
}

// publish publishes a message as it is.
func (f lettersFleet) publish(subject, kind, data string) {
	f.Helper()
	m := &nats.Msg{Subject: subject, Data: []byte(data), Header: nats.Header{
		"ce-specversion": {"1.0"}, "ce-id": {uuid.NewString()}, "ce-source": {"test"}, "ce-type": {kind}, "Content-Type": {"application/json"},
	}}
	if _, err := eventstest.JetStream(f, f.nats.URL()).PublishMsg(f.Context(), m); err != nil {
		f.Fatal(err)
	}
}

// awaits waits until so many letters are open, and returns them.
func (f lettersFleet) awaits(open int) (list []letter) {
	f.Helper()
	eventually(f, func() error {
		if list = f.list(); len(list) != open {
			return fmt.Errorf("%d letters, want %d", len(list), open)
		}
		return nil
	})
	return list
}

const lateText = `{"text":"hello","turns":[]}`

// late publishes a call's transcript whose text isn't there yet.
func (f lettersFleet) late(call string) {
	f.Helper()
	f.publish("phones."+system+".transcript", "callboard.transcript.changed", `{"callId":"`+call+`","phoneSystemId":"`+system+
		`","version":1,"status":"completed","object":{"bucket":"PHONE_TRANSCRIPTS","name":"late","bytes":27,"digest":"SHA-256=E6woHc0OgyHRoJMPx61wlW3yvhYUMLPIa7cQKFMvUuE="}}`)
}

// TestDeadLetters follows an operator from a list of dead letters to one without any.
func TestDeadLetters(t *testing.T) {
	f := lettersFleet{newFleet(t)}
	f.says(0, `^No open dead letters\.\n$`, "list")
	f.says(0, `^No dead letters\.\n$`, "list", "--all")
	f.says(0, `^No open dead letters\.\n$`, "retry", "--all")
	d := f.projector()
	succeed(t, f.env("callboard_operator"), lines(), "publish", "-")
	calls := "phones." + system + ".call"
	f.late(ownCall)
	f.publish(calls, "callboard.call.changed", `{"note":"\u0000`+"\u202e\u009b31m"+strings.Repeat("é", 4000)+`"}`)
	f.publish(calls, "callboard.call.changed", "\x1b[31mno JSON\xff")
	open := f.awaits(3)
	f.publish(audit.Subject, "", "nonsense")
	open = append(open, f.awaits(4)[3])
	ids := make([]string, len(open))
	for i, l := range open {
		ids[i] = strconv.FormatInt(l.ID, 10)
	}

	t.Run("list", func(t *testing.T) { checkLettersListed(t, f, ids) })
	t.Run("show", func(t *testing.T) { checkLetterShown(t, f, ids) })
	t.Run("refused", func(t *testing.T) { checkLettersRefused(t, f, ids) })
	t.Run("retry", func(t *testing.T) { checkLettersRetried(t, f, ids, d) })
	t.Run("drop", func(t *testing.T) { checkLettersDropped(t, f, ids) })
	t.Run("many", func(t *testing.T) { checkManyLetters(t, f) })
}

func checkLettersListed(t *testing.T, f lettersFleet, ids []string) {
	t.Helper()
	f = f.in(t)
	f.says(0, `^ID +STORED +SUBJECT +SEQUENCE +STATE +REASON\n`+ids[0]+` +\d{4}-\S+Z +phones\.\d+\.`+system+`\.transcript +5 +open +/object: its entry can't be had`, "list")
	f.says(0, `\n4 open\.\n$`, "list")
	f.says(0, `\n4 open\.\nThese are the oldest 1; there are more\. --limit lists more, --reason fewer\.\n$`, "list", "--limit", "1")
	f.says(0, `\n1 open\.\n$`, "list", "--reason", "/object")
	f.says(0, `^No open dead letter's reason holds "x y"\.\n$`, "list", "--reason", "x y")
}

func checkLetterShown(t *testing.T, f lettersFleet, ids []string) {
	t.Helper()
	f = f.in(t)
	f.says(0, `(?s)state +open\nreason +/object: its .*advice +The transcript's text wasn't .*header +ce-type: callboard.transcript.changed\n.*Data, \d+ bytes:\n{\n  "callId": "`, "show", ids[0])
	f.says(0, `(?s)"note": "\\u0000\\u202e\\u009b31mé+\n\.\.\. and \d+ bytes more; --full shows all\n$`, "show", ids[1])
	f.says(0, `(?s)"note": "\\u0000\\u202e\\u009b31mé+"\n}\n$`, "show", ids[1], "--full")
	f.says(0, `(?s)\nData, 13 bytes:\n\\x1b\[31mno JSON\\xff\n$`, "show", ids[2])
	if r := f.operator("show", ids[2], "--raw"); r.out != "\x1b[31mno JSON\xff" {
		t.Errorf("raw: %q %s", r.out, r.err)
	}
	var shown letter
	f.decode(&shown, "show", ids[2])
	if string(shown.Data) != "\x1b[31mno JSON\xff" || shown.Header["ce-type"][0] != "callboard.call.changed" || shown.Advice == "" || shown.State != "open" {
		t.Errorf("%+v", shown)
	}
	f.says(0, `No retry is possible`, "show", ids[3])
}

func checkLettersRefused(t *testing.T, f lettersFleet, ids []string) {
	t.Helper()
	f = f.in(t)
	const nobody = `error: no dead letter 4711; 'callboard dead-letters list --all' shows those there are\n$`
	f.says(1, nobody, "show", "4711")
	f.says(1, nobody, "retry", ids[0], "4711")
	f.says(1, nobody, "drop", ids[0], "4711")
	f.says(1, `dead letter `+ids[3]+` can't be retried: it is of the audit's stream, `, "retry", ids[0], ids[3])
	for _, args := range [][]string{
		{"retry"}, {"retry", ids[0], "--all"}, {"retry", ids[0], "--reason", "x"}, {"retry", "--all", "--timeout", "0s"}, {"retry", "x"},
		{"drop"}, {"drop", "--all"}, {"drop", ids[0], "--all", "--reason", "x"}, {"list", "--limit", "0"}, {"list", "--limit", "10001"},
		{"show", ids[0], "--raw", "--json"}, {"show"},
	} {
		if r := f.operator(args...); r.code != 2 || r.out != "" {
			t.Errorf("%v: exit %d: %s%s", args, r.code, r.out, r.err)
		}
	}
	for _, l := range f.list() {
		if l.State != "open" {
			t.Errorf("%+v", l)
		}
	}
}

func checkLettersRetried(t *testing.T, f lettersFleet, ids []string, d *daemon) {
	t.Helper()
	f = f.in(t)
	f.says(1, `(?s)^still dead letters: 3; 'callboard dead-letters show ID' says what helps\n  ID \d.*left alone: 1 of the audit's stream, nothing of which is retried\n$`, "retry", "--all")
	f.store()
	f.says(1, `^applied: 1 \(ID `+ids[0]+`\)\nstill dead letters: 1;.*\n  ID `+ids[1]+`: /id: is required`, "retry", ids[0], ids[1])
	f.says(0, `^Dead letter `+ids[0]+` is settled already: applied\.\n$`, "retry", ids[0])
	f.says(0, `There is nothing to do`, "show", ids[0])
	if code := d.stop(os.Interrupt); code != 0 {
		t.Errorf("exit %d", code)
	}
	f.says(1, `^still waiting: 1; .*\n  ID `+ids[1]+`: no projector has partition \d+: start one\n$`, "retry", ids[1], "--timeout", "2s")
	checkWaitStopped(f, ids[1])
	f.says(0, `^asked for: 1 \(ID `+ids[1]+`\); 'callboard`, "retry", ids[1], "--no-wait")
	f.says(0, `\n3 open, 1 of them waiting for a retry\.`, "list")
	f.says(0, `state +waiting for a retry since `, "show", ids[1])
	f.projector()
	eventually(t, func() error {
		if r := f.operator("list"); strings.Contains(r.out, "waiting") {
			return errors.New(r.out)
		}
		return nil
	})
	var done struct {
		Results []letter
		Left    map[string]int
	}
	f.decode(&done, "retry", ids[0], ids[1])
	if len(done.Results) != 2 || done.Results[0].State != "applied" || !done.Results[0].Untouched || done.Results[1].State != "open" || done.Results[1].Reason == "" {
		t.Errorf("%+v", done)
	}
}

// checkWaitStopped also checks that a long wait is no silent one.
func checkWaitStopped(f lettersFleet, id string) {
	f.Helper()
	waiting := start(f, "callboard", f.env("callboard_operator"), "dead-letters", "retry", id)
	eventually(f, func() error {
		if said := waiting.err.String(); !strings.Contains(said, "waiting for the projectors") {
			return fmt.Errorf("it says %q", said)
		}
		return nil
	})
	if code := waiting.stop(os.Interrupt); code != 1 || !strings.Contains(waiting.err.String(), "error: interrupted while waiting\nThe dead letters stay asked for") {
		f.Errorf("exit %d: %s", code, waiting.err)
	}
}

// store puts the text where the late transcript says it is.
func (f lettersFleet) store() {
	f.Helper()
	bucket, err := eventstest.JetStream(f, f.nats.URL()).ObjectStore(f.Context(), events.TranscriptBucket)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := bucket.PutString(f.Context(), "late", lateText); err != nil {
		f.Fatal(err)
	}
}

func checkLettersDropped(t *testing.T, f lettersFleet, ids []string) {
	t.Helper()
	f = f.in(t)
	f.says(0, `^Dropped 1 dead letter: ID `+ids[2]+`\.\n$`, "drop", "--all", "--reason", "not JSON")
	f.says(0, `^No open dead letter's reason holds "not JSON"\.\n$`, "drop", "--all", "--reason", "not JSON")
	f.says(0, `^Dead letter `+ids[0]+` is settled already: applied\.\nDropped 2 dead letters: ID `+ids[1]+`, `+ids[3]+`\.\n$`, "drop", ids[0], ids[1], ids[3])
	f.says(0, `state +dropped since `, "show", ids[2])
	f.says(1, `dead letter `+ids[2]+` was dropped: its data is gone`, "show", ids[2], "--raw")
	f.says(0, `^No open dead letters\.\n$`, "list")
	f.says(0, `(?s) applied .* dropped .*\n0 open\.\n$`, "list", "--all")
	if list := f.list("--all"); len(list) != 4 {
		t.Errorf("%+v", list)
	}
}

// Of many letters the kinds are counted, and the first few are named.
func checkManyLetters(t *testing.T, f lettersFleet) {
	t.Helper()
	f = f.in(t)
	f.projector()
	for range 11 {
		f.publish("phones."+system+".call", "callboard.call.changed", "no JSON")
	}
	f.publish("phones."+system+".call", "callboard.fax.changed", "{}")
	f.awaits(12)
	f.says(0, `\n12 open:\n11 × +not JSON\n1 × +header:ce-type: must be callboard.*\n$`, "list")
	f.says(1, `^still dead letters: 12; .*\n  ID (\d+, ){9}\d+ and 1 more: not JSON: .*\n  ID \d+: header:ce-type: must be callboard.*\n$`, "retry", "--all")
	f.says(0, `^Dropped 11 dead letters: ID (\d+, ){9}\d+ and 1 more\.\n$`, "drop", "--all", "--reason", "not JSON")
}

// The help of each command can be had without a setting.
func TestDeadLetters_Help(t *testing.T) {
	for _, name := range []string{"list", "show", "retry", "drop"} {
		if out := succeed(t, nil, "", "dead-letters", name, "--help"); !strings.HasPrefix(out, "Usage: callboard dead-letters "+name) || !strings.Contains(out, "--json") {
			t.Errorf("%s: %s", name, out)
		}
	}
}
