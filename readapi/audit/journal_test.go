package audit_test

import (
	"errors"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/audit"
	journal "callboard/readapi/audit"
)

// A place is free again once its entry is acknowledged, and not before.
func TestQueue_Reserve(t *testing.T) {
	s := newStage(t, 2)
	full := func() bool { return errors.Is(s.journal.Reserve(), journal.ErrFull) }
	s.reserve()
	s.reserve()
	if !s.journal.Full() || !full() {
		t.Error("a third place of two")
	}
	s.journal.Record(entry())
	s.journal.Record(entry())
	s.start()
	s.await("an attempt to publish", func() bool { return s.log.count("can't be published") > 0 })
	if !s.journal.Full() || !full() {
		t.Error("a place is free before its entry is acknowledged")
	}
	if recorded, waiting := s.metric("recorded_total"), s.metric("waiting"); recorded != 2 || waiting != 2 {
		t.Errorf("%v recorded, %v waiting", recorded, waiting)
	}
	s.createStream()
	s.await("acknowledgements", func() bool { return !s.journal.Full() })
	s.reserve()
	s.reserve()
	if !full() {
		t.Error("a third place of two, later")
	}
	if refused, acknowledged := s.metric("refused_total"), s.metric("acknowledged_total"); refused != 3 || acknowledged != 2 {
		t.Errorf("%v refused, %v acknowledged", refused, acknowledged)
	}
	s.journal.Record(entry())
	s.journal.Record(entry())
}

// What PostgreSQL can't keep isn't sent, and what is missing is filled in.
func TestQueue_Record(t *testing.T) {
	s := newStage(t, 0)
	s.createStream()
	given := audit.Entry{
		ID: uuid.New(), At: time.Date(2026, 3, 2, 10, 30, 0, 123456789, time.FixedZone("", 3600)), KeyID: uuid.New(),
		Operation: "list\x00Phones", Status: 404, Code: "\xffNOT_FOUND", Address: netip.MustParseAddr("fe80::1%eth0"), RequestID: "a\xc3\x28b\x00",
	}
	s.record(given)
	began := time.Now()
	s.record(entry())
	if err := s.start()(); err != nil {
		t.Fatal(err)
	}
	got := s.entries()
	want := given
	want.At = time.Date(2026, 3, 2, 9, 30, 0, 123456000, time.UTC)
	want.Operation, want.Code, want.RequestID, want.Address = "listPhones", "NOT_FOUND", "a(b", netip.MustParseAddr("fe80::1")
	if got[0] != want {
		t.Errorf("%+v, want %+v", got[0], want)
	}
	if late := got[1]; late.ID.Version() != 7 || late.At.Sub(began).Abs() > time.Minute || late.At != late.At.Truncate(time.Microsecond) {
		t.Errorf("%+v", late)
	}
}

// The journal knows the entries of the stream, and nothing of who files them.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		if strings.HasPrefix(path, "callboard/") && path != "callboard/events/audit" {
			t.Errorf("imports %s", path)
		}
	}
}
