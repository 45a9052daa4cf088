package readapi

import (
	"strings"
	"testing"
)

// A column of another type is a 500 with its cause in the log, also where the statement was prepared before.
func TestTables_UnexpectedType(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	for _, c := range []struct{ change, path, cause string }{
		{"alter table projection.topology alter row type jsonb", "/agent-configs", "column row is of type 3802"},
		{"alter table projection.call_log alter duration type bigint", "/call-log-reports?" + reportQuery(), "column duration is of type 20"},
	} {
		path := systemPath(system, c.path)
		h.expectCode(c.path, h.get(path, withKey(key)), "")
		h.exec(c.change)
		h.expectCode(c.path+" after "+c.change, h.get(path, withKey(key)), internalError)
		if log := h.log.String(); !strings.Contains(log, c.cause) {
			t.Errorf("log = %s, want %q in it", log, c.cause)
		}
	}
}
