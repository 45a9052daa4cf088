package fault_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/rebuild"
	"callboard/schema/cluster"
	"callboard/schema/schematest"
)

// newCoordinator starts a coordinator and its workers.
func newCoordinator(tb testing.TB) *postgresServer {
	tb.Helper()
	schematest.NeedNodes(tb)
	return startPostgresServer(tb, cluster.Config{}, schematest.WorkerCount)
}

// newNodesHarness starts callboard with a distributed projection.
func newNodesHarness(t *testing.T) *harness {
	t.Helper()
	seed := seed(t)
	h := prepareHarness(t, seed)
	h.nats, h.postgres = newNATSServer(t), newCoordinator(t)
	h.createDatabase()
	h.start(seed, bursty)
	h.startReaderOfWorker(h.postgres.workers.Servers[1])
	return h
}

// startReaderOfWorker starts a reader that reads the projection from a worker.
func (h *harness) startReaderOfWorker(worker *cluster.Cluster) {
	h.tb.Helper()
	env := h.readerEnv()
	env["CALLBOARD_POSTGRES_READ_URL"] = worker.UserURL(readerRole, h.postgres.password, liveDatabase)
	r := &reader{process: newProcess(h.tb, "readapi", "reader-of-worker", env)}
	r.Start()
	h.readers = append(h.readers, r)
}

// A distributed projection under load: a worker and the coordinator are killed, a shard is moved, and generations
// are switched. No client sees a wrong answer, and no row is lost. While a worker is down, readers answer for the
// phone systems of the other one.
func TestNodes(t *testing.T) {
	h := newNodesHarness(t)
	c := h.startClients()
	h.awaitApplied(settleMessages)

	worker := h.postgres.workers.Servers[0]
	worker.Kill()
	here, elsewhere := h.systemsByNode(h.load.systems(), worker.Port())
	if len(here) == 0 || len(elsewhere) == 0 {
		t.Fatalf("phone systems of the worker and of the other one = %d, %d, want some", len(here), len(elsewhere))
	}
	for range 3 {
		for _, system := range here {
			h.requireStatus(c, system, http.StatusServiceUnavailable)
		}
		for _, system := range elsewhere {
			h.requireStatus(c, system, http.StatusOK)
		}
	}
	h.awaitPositions(elsewhere)
	if err := worker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.awaitApplied(settleMessages)
	h.awaitCaughtUp()

	h.move(events.Partition(here[0], partitions))
	h.awaitApplied(settleMessages)

	h.postgres.Kill()
	if err := h.postgres.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The connections of before the kill are lost.
	h.pool.Reset()
	h.awaitApplied(settleMessages)

	for _, args := range []string{"rebuild --keep", "repair --system " + here[0].String(), "rollback", "rebuild"} {
		var result struct {
			Comparison        rebuild.Comparison
			WritePauseSeconds float64
		}
		if h.command(&result, strings.Fields(args)...); result.Comparison.Differs() {
			t.Errorf("%s: comparison = %+v, want no difference", args, result.Comparison)
		}
		t.Logf("%s: writes paused for %.3f s", args, result.WritePauseSeconds)
		h.awaitApplied(settleMessages)
	}

	h.load.stop()
	c.finish()
	h.verify()
	h.checkNothingLeft(true)
	if n := h.queryInt("select count(*) from control.generation where state not in ('live', 'dropped')"); n != 0 {
		t.Errorf("generations beside the live one = %d, want 0", n)
	}
	for _, total := range h.summary.totals {
		t.Log(total)
	}
}

// A worker is frozen under load: its connections stay, and nothing answers. Readers answer for the phone systems of
// the other one, whose partitions go on.
func TestNodes_WorkerFrozen(t *testing.T) {
	h := newNodesHarness(t)
	c := h.startClients()
	h.awaitApplied(settleMessages)

	worker := h.postgres.workers.Servers[0]
	here, elsewhere := h.systemsByNode(h.load.systems(), worker.Port())
	thaw := freezePostgres(t, schematest.OpenPool(t, worker.URL(liveDatabase)))
	// Until the reader knows that the worker is silent, requests for its partitions hold connections that others need.
	h.requireStatus(c, here[0], http.StatusServiceUnavailable)
	eventstest.Eventually(t, "the reader answers for the other worker", func() bool {
		return !slices.ContainsFunc(elsewhere, func(system uuid.UUID) bool {
			got, err := h.extensions(c, system)
			return err != nil || got.status != http.StatusOK
		})
	})
	for range 3 {
		for _, system := range elsewhere {
			h.requireStatus(c, system, http.StatusOK)
		}
		h.requireStatus(c, here[0], http.StatusServiceUnavailable)
	}
	h.awaitPositions(elsewhere)
	thaw()
	h.awaitApplied(settleMessages)

	h.load.stop()
	c.finish()
	h.verify()
}

// A worker and the coordinator are killed while webhooks are sent. Every event arrives; meanwhile those of the
// other worker's phone systems do.
func TestNodes_Webhooks(t *testing.T) {
	h := &harness{tb: t, postgres: newCoordinator(t)}
	h.createDatabase()
	w := startWebhooks(t, h, func(role string) string { return h.postgres.roleURL(role, liveDatabase) })
	w.awaitRequests(200)

	for _, worker := range h.postgres.workers.Servers {
		worker.Kill()
		if _, elsewhere := h.systemsByNode(w.artifacts.systems, worker.Port()); len(elsewhere) > 0 {
			w.awaitRequests(100)
		}
		if err := worker.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.awaitRequests(200)
	}

	w.killPostgres()
	w.allowRequestsInFlight()
	w.awaitRequests(200)
	w.awaitShared()
	w.finish()
	w.check()
}

// portOf returns the port of the worker that has the rows of a partition.
func (h *harness) portOf(partition int) int {
	h.tb.Helper()
	return schematest.QueryOne[int](h.tb, h.pool, `
		select n.nodeport
		from pg_dist_placement
		join pg_dist_node n using (groupid)
		where shardid = get_shard_id_for_distribution_column('projection.position', $1::smallint)`, partition)
}

// move moves the shard of a partition to another worker, while it is read and written.
func (h *harness) move(partition int) {
	h.tb.Helper()
	from, workers := h.portOf(partition), h.postgres.workers.Servers
	to := workers[slices.IndexFunc(workers, func(w *cluster.Cluster) bool { return w.Port() != from })].Port()
	schematest.Exec(h.tb, h.pool, `
		select citus_move_shard_placement(
		  get_shard_id_for_distribution_column('projection.position', $1::smallint), '127.0.0.1', $2, '127.0.0.1', $3,
		  shard_transfer_mode => 'force_logical')`, partition, from, to)
	if now := h.portOf(partition); now != to {
		h.tb.Errorf("port of the shard's node = %d, want %d", now, to)
	}
}

// systemsByNode returns which of some phone systems the node at a port has, and all others.
func (h *harness) systemsByNode(systems []uuid.UUID, port int) (here, elsewhere []uuid.UUID) {
	h.tb.Helper()
	for _, system := range systems {
		if h.portOf(events.Partition(system, partitions)) == port {
			here = append(here, system)
		} else {
			elsewhere = append(elsewhere, system)
		}
	}
	return here, elsewhere
}

// awaitPositions waits until the partition of each phone system has passed what the stream ends with now.
func (h *harness) awaitPositions(systems []uuid.UUID) {
	h.tb.Helper()
	last := h.stream().CachedInfo().State.LastSeq
	for _, system := range systems {
		partition := events.Partition(system, partitions)
		eventstest.Eventually(h.tb, "partition "+strconv.Itoa(partition)+" goes on", func() bool {
			return h.queryInt("select sequence from projection.position where partition = $1", partition) >= int64(last)
		})
	}
}

// extensions requests the extensions of a phone system.
func (h *harness) extensions(c *clients, system uuid.UUID) (response, error) {
	return c.client.get(h.tb.Context(), *h.readers[0].url.Load()+"/"+system.String()+"/extensions", h.keys.systems[system])
}

func (h *harness) requireStatus(c *clients, system uuid.UUID, want int) {
	h.tb.Helper()
	got, err := h.extensions(c, system)
	if err != nil || got.status != want {
		h.tb.Errorf("status = %d, %v, want %d: %s", got.status, err, want, got.body)
	}
}
