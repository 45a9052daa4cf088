package fault_test

import (
	"net/http"
	"testing"
	"time"

	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

// streamLeader returns the NATS server that leads the stream of events.
func (r *replicas) streamLeader() *natsServer {
	r.tb.Helper()
	var leader string
	eventstest.Eventually(r.tb, "the stream has a leader", func() bool {
		ctx, cancel := r.attempt()
		defer cancel()
		info, err := r.stream().Info(ctx)
		if err == nil && info.Cluster != nil {
			leader = info.Cluster.Leader
		}
		return leader != ""
	})
	for _, s := range r.servers {
		if s.Name() == leader {
			return s
		}
	}
	r.tb.Fatalf("leader = %q, want one of the three servers", leader)
	return nil
}

// awaitReplicas waits until all three servers have the whole stream.
func (r *replicas) awaitReplicas() {
	r.tb.Helper()
	eventstest.Eventually(r.tb, "three servers have the stream", func() bool {
		ctx, cancel := r.attempt()
		defer cancel()
		info, err := r.stream().Info(ctx)
		if err != nil || info.Cluster == nil || info.Cluster.Leader == "" {
			return false
		}
		current := 1
		for _, replica := range info.Cluster.Replicas {
			if replica.Current && !replica.Offline {
				current++
			}
		}
		return current == len(r.servers)
	})
}

// checkNothingLost checks that the stream has every acknowledged event once, and that the projection has what
// follows from the stream.
func (r *replicas) checkNothingLost() {
	r.tb.Helper()
	r.events.checkStream(r.stream())
	r.awaitCaughtUp()
	r.verify()
}

// The NATS server that leads the stream is killed under load, and then two servers at once. No acknowledged event
// is lost, publishers and projector go on by themselves, and the standby has the primary's rows.
//
// After some elections NATS 2.15.2 does not acknowledge the retries of events that were in flight, before the
// duplicate window is over. The test lasts two minutes longer then.
func TestReplicas_NATSServersKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	r := newReplicas(t)
	stop := r.events.start()
	r.events.awaitAcknowledged(100)
	leader := r.streamLeader()
	leader.Kill()
	r.events.awaitAcknowledged(100)
	r.awaitApplied(100)
	leader.Start()
	r.awaitReplicas()
	// One server of three acknowledges nothing. With the second one it goes on.
	r.servers[0].Kill()
	r.servers[1].Kill()
	r.servers[0].Start()
	r.events.awaitAcknowledged(100)
	r.servers[1].Start()
	r.awaitReplicas()
	stop()
	r.checkNothingLost()
	r.awaitReplicated()
	standby := schematest.ReadProjection(t, r.standby.URL(liveDatabase))
	schematest.RequireEqual(t, "the standby's tables, compared with the primary's", standby, schematest.ReadProjection(t, r.primary.URL(liveDatabase)))
}

// Without synchronous replication the last commits are lost with the primary. The projector reads them again from
// the stream, because the position is lost with the rows. Audit entries are stored again for the same reason. A key
// that was issued last is unknown. One that was revoked last is revoked again from the journal; one that is not in
// the journal works again.
func TestReplicas_AsynchronousFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	r := newReplicas(t)
	r.events.mustPublish(500)
	r.awaitCaughtUp()
	revoked, unrecorded := r.issueKey(), r.issueKey()
	r.awaitStatus(revoked, http.StatusOK)
	r.awaitReplicated()
	resume := r.wal.Pause()
	defer resume()
	r.events.mustPublish(200)
	r.awaitCaughtUp()
	issued := r.issueKey()
	r.startCommand("keys", "revoke", revoked.ID.String()).mustSucceed()
	if _, err := r.registry().Revoke(t.Context(), unrecorded.ID); err != nil {
		t.Fatal(err)
	}
	r.awaitStatus(issued, http.StatusOK)
	r.awaitStatus(revoked, http.StatusUnauthorized)
	// Readers publish entries after the answers.
	eventstest.Eventually(t, "the stream has audit entries that will be lost with the primary", func() bool { return r.notAudited(r.standby) > 0 })
	r.awaitAudited()
	before, kept := r.positions(r.primary), r.positions(r.standby)
	if kept >= before || r.isRevoked(r.standby, revoked) {
		t.Fatalf("positions of the standby = %d, want less than the primary's %d, and no revocation", kept, before)
	}
	r.failOver()
	resume()
	claimed := time.Now()
	eventstest.Eventually(t, "the key is revoked again", func() bool { return r.isRevoked(r.standby, revoked) })
	t.Logf("the key was revoked again %s after the claim", round(time.Since(claimed)))
	r.awaitStatus(issued, http.StatusUnauthorized)
	// The reader remembers a revoked key for a minute, which TestAuthorizer_RemembersDeadKeys proves; one that starts
	// again does not.
	r.reader.Kill()
	r.reader.Start()
	r.awaitStatus(unrecorded, http.StatusOK)
	if got := r.status(revoked); got != http.StatusUnauthorized {
		t.Errorf("status of the key that was revoked last = %d, want 401", got)
	}
	r.events.mustPublish(100)
	r.checkNothingLost()
	r.awaitAudited()
	t.Logf("sum of the positions: %d on the lost primary, %d on the standby; %d events", before, kept, r.events.acknowledged.Load())
}

// With synchronous replication nothing that was acknowledged is lost. What the standby has not confirmed is not
// acknowledged and not visible.
func TestReplicas_SynchronousFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	r := newReplicas(t)
	r.execute(r.primary, "alter system set synchronous_standby_names = '*'")
	r.execute(r.primary, "select pg_reload_conf()")
	r.events.mustPublish(500)
	r.awaitCaughtUp()
	revoked, undecided := r.issueKey(), r.issueKey()
	issued := r.issueKey()
	if _, err := r.registry().Revoke(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	// From here on the standby gets nothing.
	resume := r.wal.Pause()
	defer resume()
	r.events.mustPublish(200)
	revocation := make(chan error, 1)
	go func() {
		_, err := r.registry().Revoke(t.Context(), undecided.ID)
		revocation <- err
	}()
	eventstest.Eventually(t, "the projector's and the operator's commits wait for the standby", func() bool {
		return r.queryInt("select count(distinct usename) from pg_stat_activity where wait_event = 'SyncRep'") == 2
	})
	r.awaitStatus(undecided, http.StatusOK)
	r.failOver()
	resume()
	if err := <-revocation; err == nil {
		t.Error("a revocation that the standby did not confirm was acknowledged")
	}
	r.awaitStatus(issued, http.StatusOK)
	r.awaitStatus(undecided, http.StatusOK)
	r.awaitStatus(revoked, http.StatusUnauthorized)
	r.events.mustPublish(100)
	r.checkNothingLost()
}
