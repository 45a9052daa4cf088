package fault_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/eventstest"
	"callboard/projector/feed"
	"callboard/schema/schematest"
)

// kind is a kind of fault. When run returns the fault is over: killed processes are started again, proxies have no
// toxics.
type kind struct {
	name string
	run  func(*harness)
}

// kinds returns the selected kinds that this machine allows.
func (h *harness) kinds(selected *regexp.Regexp) []kind {
	return slices.DeleteFunc(slices.Concat(kinds(), h.diskKinds()), func(k kind) bool { return !selected.MatchString(k.name) })
}

func kinds() []kind {
	return []kind{
		{"projector killed", (*harness).killProjector},
		{"both projectors killed", (*harness).killProjectors},
		{"projector killed with rows loaded", killProjectorAt(beforePosition)},
		{"projector killed while it writes", killProjectorAt(beforeRows)},
		{"projector killed while it commits", killProjectorAt(beforeCommit)},
		{"projector frozen until its sessions are terminated", (*harness).freezeAndTerminateSessions},
		{"projector frozen until its locks are taken", (*harness).freezeAndTerminateLockSession},
		{"projector frozen until the standby terminates it", (*harness).freezeUntilTerminated},
		{"projector frozen with rows loaded", (*harness).freezeWithRowsLoaded},
		{"projectors' sessions terminated", (*harness).terminateProjectorSessions},
		{"stream's clock stepped back", (*harness).stepClockBack},
		{"response to a commit lost", (*harness).loseCommitResponse},
		{"reader killed", (*harness).killReader},
		{"PostgreSQL killed", (*harness).killPostgres},
		{"NATS killed", (*harness).killNATS},
		{"consumer paused", (*harness).pauseConsumer},
		{"consumer deleted", (*harness).deleteConsumer},
		{"connection with latency", disturbProxy("latency", `"latency": 150, "jitter": 100`)},
		{"connection with small packets", disturbProxy("slicer", `"average_size": 40, "size_variation": 20, "delay": 20`)},
		{"connection with little bandwidth", disturbProxy("bandwidth", `"rate": 20`)},
		{"connection reset", disturbProxy("reset_peer", `"timeout": 30`)},
		{"connection without traffic", disturbProxy("timeout", `"timeout": 0`)},
		{"rebuild killed at a random time", (*harness).killRebuild},
		{"rebuild killed after some parts", killRebuildAt(rebuildLoads)},
		{"rebuild killed while it builds indexes", killRebuildAt(rebuildIndexes)},
		{"rebuild killed before the write pause", (*harness).killRebuildBeforeWritePause},
		{"projector killed while a rebuild follows it", (*harness).killProjectorInRebuild},
		{"PostgreSQL killed in a rebuild", (*harness).killPostgresInRebuild},
		{"NATS killed in a rebuild", (*harness).killNATSInRebuild},
		{"phone system repaired", (*harness).repairSystem},
	}
}

// kindPicker returns all kinds equally often, in random order.
type kindPicker struct {
	random *rand.Rand
	kinds  []kind
	left   []kind
}

func (p *kindPicker) next() kind {
	if len(p.left) == 0 {
		p.left = slices.Clone(p.kinds)
		p.random.Shuffle(len(p.left), func(i, j int) { p.left[i], p.left[j] = p.left[j], p.left[i] })
	}
	k := p.left[0]
	p.left = p.left[1:]
	return k
}

// inject injects a fault and waits until callboard has recovered. One time in four it doesn't wait, so that faults
// overlap.
func (h *harness) inject(k kind, number int) {
	h.tb.Helper()
	start := time.Now()
	h.tb.Logf("fault %d: %s", number, k.name)
	k.run(h)
	end := time.Now()
	h.checkRunning()
	if h.random.IntN(4) == 0 {
		h.tb.Logf("took %s", round(end.Sub(start)))
		h.summary.addFault(k.name)
		return
	}
	h.awaitCaughtUp()
	h.awaitReaders()
	recovery := time.Since(end)
	h.tb.Logf("took %s, recovered in %s", round(end.Sub(start)), round(recovery))
	h.summary.addFault(k.name, recovery)
}

// checkRunning fails the test if a process has exited that no fault killed.
func (h *harness) checkRunning() {
	h.tb.Helper()
	h.nats.RequireRunning()
	for _, p := range h.projectors {
		p.RequireRunning()
	}
	for _, r := range h.readers {
		r.RequireRunning()
	}
}

// awaitReaders waits until every reader answers a request.
func (h *harness) awaitReaders() {
	h.tb.Helper()
	client := newClient(h.tb)
	for _, r := range h.readers {
		eventstest.Eventually(h.tb, r.Name()+" answers", func() bool {
			got, err := client.get(h.tb.Context(), *r.url.Load(), h.keys.group)
			return err == nil && got.status == 200
		})
	}
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

// hold keeps a fault up for a random time: in TestSoak now and then for longer than connections tolerate.
func (h *harness) hold() {
	longest := 1200 * time.Millisecond
	if h.soak && h.random.IntN(8) == 0 {
		longest = 20 * time.Second
	}
	<-time.After(time.Duration(h.random.Int64N(int64(longest))))
}

func (h *harness) coinFlip() bool { return h.random.IntN(2) == 0 }

func (h *harness) killProjector() {
	p := h.projectors[h.random.IntN(len(h.projectors))]
	if h.random.IntN(4) > 0 {
		p = h.owner()
	}
	p.Kill()
	p.Start()
}

func (h *harness) killProjectors() { h.withProjectorsKilled(func() {}) }

// withProjectorsKilled kills both projectors, and starts them after change and a random time.
func (h *harness) withProjectorsKilled(change func()) {
	for _, p := range h.projectors {
		p.Kill()
	}
	change()
	h.hold()
	for _, p := range h.projectors {
		p.Start()
	}
}

// stepClockBack leaves watermarks in the future, as a NATS server does whose clock was ahead and has been corrected.
func (h *harness) stepClockBack() {
	h.withProjectorsKilled(func() {
		schematest.Exec(h.tb, h.pool, "update projection.position set watermark = greatest(watermark, now()) + $1::interval",
			time.Duration(1+h.random.Int64N(3000))*time.Millisecond)
	})
}

// killProjectorAt kills a projector in the middle of a transaction. Its successor may start before PostgreSQL
// notices the end of the transaction's session.
func killProjectorAt(position string) func(*harness) {
	return func(h *harness) {
		f := h.block(position)
		defer f.unblock()
		p := f.awaitProjector()
		p.Kill()
		if h.coinFlip() {
			h.hold()
		}
		f.unblock()
		p.Start()
	}
}

// freezeAndTerminateSessions freezes a projector, terminates its sessions and resumes it when another one has taken
// over.
func (h *harness) freezeAndTerminateSessions() {
	p := h.owner()
	p.Signal(syscall.SIGSTOP)
	h.hold()
	h.terminateSessionsOf(p, nil)
	h.awaitTakeover(p)
	h.awaitCaughtUp()
	p.Signal(syscall.SIGCONT)
}

// freezeAndTerminateLockSession resumes the projector with its transactions intact and its locks lost.
func (h *harness) freezeAndTerminateLockSession() {
	p := h.owner()
	p.Signal(syscall.SIGSTOP)
	h.terminateLockSession(p)
	h.awaitTakeover(p)
	h.hold()
	p.Signal(syscall.SIGCONT)
}

// freezeUntilTerminated freezes a projector until the standby terminates its sessions.
func (h *harness) freezeUntilTerminated() {
	p := h.owner()
	p.Signal(syscall.SIGSTOP)
	h.awaitTakeover(p)
	p.Signal(syscall.SIGCONT)
}

// freezeWithRowsLoaded resumes a projector in a transaction that has read rows before another projector wrote them.
// Without a fence it would overwrite them.
func (h *harness) freezeWithRowsLoaded() {
	f := h.block(beforeLoad)
	defer f.unblock()
	p := f.awaitProjector()
	p.Signal(syscall.SIGSTOP)
	h.terminateSessionsOf(p, f)
	h.awaitTakeover(p)
	f.unblock()
	h.awaitCaughtUp()
	p.Signal(syscall.SIGCONT)
}

func (h *harness) terminateProjectorSessions() { h.terminateSessions("usename = $1", projectorRole) }

// loseCommitResponse lets PostgreSQL commit a transaction whose response doesn't reach the projector.
func (h *harness) loseCommitResponse() {
	f := h.block(beforeCommit)
	defer f.unblock()
	f.awaitProjector()
	restore := h.postgresProxies.projectors.addToxic(downstream, "timeout", `"timeout": 0`)
	const transactions = "select sum(xmin::text::bigint)::bigint from projection.position" // the transactions that wrote the rows
	before := h.queryInt(transactions)
	f.unblock()
	eventstest.Eventually(h.tb, "a transaction is committed", func() bool { return h.queryInt(transactions) > before })
	restore()
}

func (h *harness) killReader() {
	r := h.readers[h.random.IntN(len(h.readers))]
	r.Kill()
	r.Start()
}

func (h *harness) killPostgres() {
	h.postgres.Kill()
	h.postgresStops++
	h.hold()
	var err error
	// While the server was down, another server can have taken its port.
	eventstest.Eventually(h.tb, "PostgreSQL starts", func() bool {
		err = h.postgres.Restart(h.tb.Context())
		if err != nil {
			h.tb.Logf("PostgreSQL does not start: %v", err)
		}
		return err == nil
	})
	h.pool.Reset()
}

func (h *harness) killNATS() {
	h.nats.Kill()
	h.hold()
	h.nats.Start()
}

// pauseConsumer pauses the consumer of a projector for an hour. The projector has to replace it.
func (h *harness) pauseConsumer() {
	h.withConsumer("a consumer is paused", func(stream jetstream.Stream, name string) error {
		_, err := stream.PauseConsumer(h.tb.Context(), name, time.Now().Add(time.Hour))
		return err
	})
	h.hold()
}

func (h *harness) deleteConsumer() {
	h.withConsumer("a consumer is deleted", func(stream jetstream.Stream, name string) error {
		return stream.DeleteConsumer(h.tb.Context(), name)
	})
}

// withConsumer calls do with a projector's consumer until it succeeds. The projector may replace the consumer
// meanwhile.
func (h *harness) withConsumer(what string, do func(stream jetstream.Stream, name string) error) {
	h.tb.Helper()
	eventstest.Eventually(h.tb, what, func() bool {
		stream := h.stream()
		consumers := stream.ListConsumers(h.tb.Context())
		for info := range consumers.Info() {
			if strings.HasPrefix(info.Name, feed.ConsumerPrefix) && do(stream, info.Name) == nil {
				return true
			}
		}
		return false
	})
}

// disturbProxy adds a toxic to one of the proxies for a random time.
func disturbProxy(toxic, attributes string) func(*harness) {
	return func(h *harness) {
		all := []*proxy{h.natsProxies.projectors, h.postgresProxies.projectors, h.natsProxies.readers, h.postgresProxies.readers}
		p := all[h.random.IntN(len(all))]
		h.tb.Log(p.name())
		remove := p.addToxics(toxic, attributes)
		h.hold()
		remove()
	}
}
