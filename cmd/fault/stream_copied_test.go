package fault_test

import (
	"context"
	"maps"
	"os"
	"testing"

	"callboard/projector/rebuild"
)

// While the stream of events is copied to one with another number of partitions, and the projection is rebuilt from that, under load, strict
// clients that walk by updatedAt miss no row, and no watermark goes back.
func TestStreamCopied(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	h := newHarness(t, seed(t), bursty)
	c := h.newClients(true, func(ctx context.Context, c *clients) {
		for _, r := range h.readers {
			p := pager{monotonicReader: c.newMonotonicReader(), reader: r}
			c.running.Go(func() { p.run(ctx) })
		}
	})
	h.awaitApplied(settleMessages)
	const next = "PHONES2"
	var copied struct{ Messages int64 }
	h.command(&copied, "stream", "copy", next, "--partitions", "5")
	if copied.Messages == 0 {
		t.Error("messages = 0, want more")
	}
	h.streamName = next
	h.operator = h.newOperator(map[string]string{"CALLBOARD_STREAM": next})
	var result rebuild.Result
	h.command(&result, "rebuild")
	if !result.NewHistory {
		t.Errorf("rebuild = %+v, want a new history", result)
	}
	for i, p := range h.projectors {
		p.StopCleanly(os.Interrupt)
		env := h.env(h.natsProxies.projectors, h.postgresProxies.projectors, projectorRole)
		maps.Copy(env, map[string]string{"CALLBOARD_STREAM": next})
		h.projectors[i] = newProcess(t, "projector", p.Name(), env)
		h.projectors[i].Start()
	}
	h.awaitApplied(settleMessages)
	h.load.stop()
	c.finish()
	h.verify()
	h.checkNothingLeft(true)
	h.logSummary()
}
