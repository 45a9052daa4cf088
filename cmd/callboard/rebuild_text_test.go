package main

import (
	"strings"
	"testing"

	"callboard/projector/rebuild"
)

// The last line says how many messages webhooks do not announce. Without such messages there is no such line.
func TestRebuildResult_WritesUnannouncedMessages(t *testing.T) {
	t.Parallel()
	result := rebuildResult{Result: rebuild.Result{Generation: 2}, Dropped: []int64{1}}
	for _, test := range []struct {
		messages int64
		want     string
	}{
		{0, "\nDropped generation 1.\n"},
		{687, "\nDropped generation 1.\n" +
			"Messages that only this generation has applied: 687. No webhook announces them; receivers find their changes in report windows.\n"},
	} {
		var out strings.Builder
		result.Unannounced = test.messages
		if err := result.write(&out); err != nil || !strings.HasSuffix(out.String(), test.want) {
			t.Errorf("output = %q, %v, want it to end with %q", out.String(), err, test.want)
		}
	}
}
