package projector_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"

	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/projectortest"
)

// While nothing happens, a tick takes as few requests and transactions for many partitions as for few.
func TestProjector_IdleCost(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{16, 128} {
		t.Run(strconv.Itoa(partitions), func(t *testing.T) {
			t.Parallel()
			h := &harness{projectortest.NewHarness(t, projectortest.WithPartitions(partitions))}
			var infos, requests atomic.Int64
			h.countRequests(&infos, &requests)
			statements := new(statementCounter)
			var interval time.Duration
			h.StartProjector(func(c *projector.Config) {
				interval = c.Tick
				config := c.Database.Config()
				config.ConnConfig.Tracer = statements
				pool, err := pgxpool.NewWithConfig(t.Context(), config)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(pool.Close)
				c.Database = pool
			})
			h.PublishStates(projectortest.PhoneSystem(uuid.New()))
			h.WaitUntilCaughtUp()
			began := time.Now()
			eventstest.Eventually(t, "every watermark past this moment", func() bool {
				return h.QueryInt("select count(*) from projection.position where watermark > $1", began) == int64(partitions)
			})
			infosBefore, requestsBefore, movesBefore, othersBefore := infos.Load(), requests.Load(), statements.moves.Load(), statements.others.Load()
			began = time.Now()
			eventstest.Eventually(t, "100 ticks", func() bool { return infos.Load() >= infosBefore+200 })
			ticks, intervals := float64(infos.Load()-infosBefore)/2, float64(time.Since(began))/float64(interval)
			asked, moves := float64(requests.Load()-requestsBefore)/ticks, float64(statements.moves.Load()-movesBefore)/ticks
			// On a busy machine there are fewer ticks than intervals. Nothing but the moves follows the ticks.
			others := float64(statements.others.Load()-othersBefore) / intervals
			t.Logf("requests to JetStream per tick = %.2f, moves per tick = %.2f, other transactions per interval = %.2f", asked, moves, others)
			if asked > 4 {
				t.Errorf("requests to JetStream per tick = %.2f, want at most 4", asked)
			}
			if moves > 1.05 {
				t.Errorf("moves per tick = %.2f, want 1", moves)
			}
			if others > 0.5 {
				t.Errorf("other transactions per interval of the ticks = %.2f, want at most 0.5", others)
			}
		})
	}
}

// statementCounter counts statements and pipelines. Outside of a transaction each of them is one.
type statementCounter struct {
	moves  atomic.Int64 // of idle positions
	others atomic.Int64
}

// TraceQueryStart implements [pgx.QueryTracer].
func (c *statementCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, "update position") {
		c.moves.Add(1)
	} else {
		c.others.Add(1)
	}
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (c *statementCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements [pgx.BatchTracer].
func (c *statementCounter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.others.Add(1)
	return ctx
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (c *statementCounter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements [pgx.BatchTracer].
func (c *statementCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// countRequests counts the requests to JetStream: reads of a stream's state, of which each tick has two, and all but requests for messages.
func (h *harness) countRequests(infos, requests *atomic.Int64) {
	h.Helper()
	subscription, err := h.JetStream.Conn().Subscribe("$JS.API.>", func(m *nats.Msg) {
		if strings.HasPrefix(m.Subject, "$JS.API.CONSUMER.MSG.NEXT.") {
			return
		}
		requests.Add(1)
		if strings.HasPrefix(m.Subject, "$JS.API.STREAM.INFO.") {
			infos.Add(1)
		}
	})
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = subscription.Unsubscribe() })
}

// A position that a transaction holds, such as a repair, keeps no other watermark from moving.
func TestProjector_IdleWatermarksPassAHeldPosition(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.StartProjector()
	h.PublishStates(projectortest.PhoneSystem(uuid.New()))
	h.WaitUntilCaughtUp()
	held, err := h.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback(t.Context()) }()
	if _, err := held.Exec(t.Context(), "update projection.position set epoch = epoch where partition = 2"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	count := func() int64 {
		return h.QueryInt("select count(*) from projection.position where watermark > $1", began)
	}
	eventstest.Eventually(t, "the other watermarks past this moment", func() bool { return count() == projectortest.Partitions-1 })
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventstest.Eventually(t, "every watermark past this moment", func() bool { return count() == projectortest.Partitions })
}

// Whoever raises the epoch of an idle partition makes its owner claim it again.
func TestProjector_ClaimsAnIdlePartitionAgainAfterItsEpochRose(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	log := new(eventstest.LogBuffer)
	h.StartProjector(projectortest.LogTo(log), func(c *projector.Config) { c.Partitions = []int{0, 1, 2, 3} })
	h.PublishStates(projectortest.PhoneSystem(uuid.New()))
	h.WaitUntilCaughtUp()
	epochs := h.epochs()
	h.Exec("update projection.position set epoch = epoch + 1 where partition = 2")
	eventstest.Eventually(t, "another claim", func() bool { return h.epochs() == epochs+2 })
	if log.Count("partition stopped") != 1 {
		t.Errorf("partitions stopped = %d, want 1", log.Count("partition stopped"))
	}
}

// While one partition gets messages, a tick takes no request for each of the others.
func TestProjector_IdleCostBesideABusyPartition(t *testing.T) {
	t.Parallel()
	const partitions = 16
	h := &harness{projectortest.NewHarness(t, projectortest.WithPartitions(partitions))}
	var infos, requests atomic.Int64
	h.countRequests(&infos, &requests)
	h.StartProjector(func(c *projector.Config) { c.Tick = 200 * time.Millisecond })
	system := h.NewSystemIn(5)
	h.PublishStates(projectortest.PhoneSystem(system))
	h.WaitUntilCaughtUp()
	infosBefore, requestsBefore := infos.Load(), requests.Load()
	eventstest.Eventually(t, "20 ticks", func() bool {
		h.PublishStates(projectortest.Call(system, uuid.New()))
		return infos.Load() >= infosBefore+40
	})
	ticks := float64(infos.Load()-infosBefore) / 2
	asked := float64(requests.Load()-requestsBefore) / ticks
	t.Logf("requests to JetStream per tick = %.2f", asked)
	if asked > 6 { // 3, and those that count pending messages
		t.Errorf("requests to JetStream per tick = %.2f, want at most 6", asked)
	}
	began := time.Now()
	eventstest.Eventually(t, "every watermark past this moment", func() bool {
		h.PublishStates(projectortest.Call(system, uuid.New()))
		return h.QueryInt("select count(*) from projection.position where watermark > $1", began) == partitions
	})
}
