package command_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"callboard/events"
	"callboard/events/eventstest"
)

// premium is a budget that no test uses up.
const premium = "120000"

// A reader that is asked to stop answers every request of clients that stop when it is not ready, stores their
// audit entries, and exits with 0.
func TestReadapi_Drain(t *testing.T) {
	f := newFleet(t)
	reader := f.startReader(map[string]string{"CALLBOARD_DRAIN": "20s", "CALLBOARD_PREMIUM_PER_MINUTE": premium})
	key := issueKey(t, f.operator(), systemID, "--name", "load", "--scopes", "calls:read", "--tier", "premium")
	load := startLoad(t, key.Key, reader.base+"/customer/phone-systems")
	load.awaitAnswers(100)
	reader.Signal(syscall.SIGTERM)
	eventstest.Eventually(t, "the reader is not ready", func() bool {
		status, body := get(t, reader.admin+"/readyz", "")
		return status == http.StatusServiceUnavailable && strings.Contains(string(body), "stopping")
	})
	answers := load.end()
	if code := reader.Wait(3 * time.Minute); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	if got := f.auditEntries(); got != answers {
		t.Errorf("audit entries = %d, want %d, one for each answer", got, answers)
	}
}

// auditEntries returns the number of entries in the stream.
func (f *fleet) auditEntries() (n int64) {
	f.Helper()
	stream, err := eventstest.JetStream(f, f.nats.URL()).Stream(f.Context(), events.AuditStreamConfig(1).Name)
	if err != nil {
		f.Fatal(err)
	}
	state := stream.CachedInfo().State
	for sequence := state.FirstSeq; sequence <= state.LastSeq; sequence++ {
		message, err := stream.GetMsg(f.Context(), sequence)
		if err != nil {
			f.Fatal(err)
		}
		entries, err := events.DecodeAudit(message.Data)
		if err != nil {
			f.Fatal(err)
		}
		n += int64(len(entries))
	}
	return n
}
