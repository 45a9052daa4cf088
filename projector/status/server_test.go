package status_test

import (
	"slices"
	"strings"
	"testing"

	"callboard/events"
	"callboard/projector/status"
)

// A stream of key revocations and expiries or of audit entries that is missing is a problem.
func TestRead_MissingStream(t *testing.T) {
	for stream, problem := range map[string]string{events.KeyStream: status.KeysJournalMissing, events.AuditStream: status.AuditLogMissing} {
		t.Run(stream, func(t *testing.T) {
			h := newHarness(t)
			about := func(text string) bool { return strings.HasPrefix(text, problem) }
			if problems := h.read().Problems(); slices.ContainsFunc(problems, about) {
				t.Errorf("problems = %q, want none about the stream", problems)
			}
			if err := h.JetStream.DeleteStream(t.Context(), stream); err != nil {
				t.Fatal(err)
			}
			if problems := h.read().Problems(); !slices.ContainsFunc(problems, about) {
				t.Errorf("problems without the stream = %q, want %s", problems, problem)
			}
		})
	}
}

// The operator sees the timeline of the server, and that there is no synchronous standby.
func TestRead_Server(t *testing.T) {
	h := newHarness(t)
	if server := h.read().Server; server.Timeline == nil || *server.Timeline < 1 || server.SynchronousStandbyNames != "" {
		t.Errorf("server = %+v, want a timeline and no standbys", server)
	}
}
