//go:build linux

package load_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/sample"
	"callboard/projector/rebuild"
	"callboard/readapi/access"
)

const (
	commitsPerSecond   = 10 // and partition
	pagesPerSecond     = 50
	comparisonPeriods  = 10               // for how many of the periods a rebuild compares
	comparisonInterval = 10 * time.Second // between the snapshots, as in production
)

// Pages are read while events are published, first and last without a rebuild, and between while one compares for ten times as long, as one
// of a projection that is a hundred times as large would. It is a separate process, as in production. The rows that are written meanwhile are
// cleaned up between its snapshots, so pages stay as fast. Pages before it are read from the same tables as those while it compares; pages
// afterwards from new ones, whose rows are in order.
func TestLoad_LongComparison(t *testing.T) {
	needLoad(t)
	i := newInstallation(t, sample.New(sample.Config{Seed: 1, Systems: *systemsFlag, Calls: *callsFlag}), nil)
	r := i.startReader("readapi", map[string]string{"CALLBOARD_PREMIUM_PER_MINUTE": unlimited})
	stop := i.publishSteadily()
	defer stop()
	w := i.windows(1)
	keys := make(map[uuid.UUID]string)
	for _, w := range w {
		keys[w.system] = i.issueKeys(access.TierPremium, w.system)[0].Key.Reveal()
	}
	client := newClient(4)
	defer client.CloseIdleConnections()
	read := func(ctx context.Context, name string, period time.Duration) *results {
		answers := newResults(name)
		paced(ctx, pagesPerSecond, 4, period, func(n int) {
			w := w[n%len(w)]
			answers.get(client, r.url+w.list(), keys[w.system])
		})
		return answers
	}
	read(t.Context(), "pages that fill the caches", *periodFlag)
	before := read(t.Context(), "pages before", *periodFlag)

	slices := int64(comparisonPeriods * *periodFlag / comparisonInterval)
	rebuilds := startProcess(t, "rebuild", os.Args[0], map[string]string{
		childRole: rebuildRole, rebuildNATS: i.natsURL, rebuildPostgres: i.postgres.URL(i.database), rebuildSpool: t.TempDir(),
		rebuildRows: strconv.FormatInt(max(1, i.countRows()/slices), 10),
	})
	reading, end := context.WithCancel(t.Context())
	defer end()
	rebuilds.Await("step " + string(rebuild.StepFollow))
	go func() {
		defer end()
		rebuilds.Wait(time.Hour)
	}()
	during := read(reading, "pages while a rebuild compares", time.Hour)
	var result rebuild.Result
	if err := json.Unmarshal([]byte(rebuilds.Await(`(?m)^result (.*)$`)[1]), &result); err != nil {
		t.Fatal(err)
	}
	after := read(t.Context(), "pages afterwards", *periodFlag)
	t.Logf("%v\n%v\n%v\np99 %.2f of that before (at most 1.3); compared for %.0f s with %d snapshots, longest write pause %.0f ms", before, during, after,
		during.percentile(99).Seconds()/before.percentile(99).Seconds(), float64(result.Compare), result.SnapshotPauses, float64(result.SnapshotPause)*1000)
	if result.Comparison.Differs() {
		t.Errorf("comparison = %+v, want no difference", result.Comparison)
	}
	for _, answers := range []*results{before, during, after} {
		if n := answers.count(http.StatusOK); n != answers.total() || n == 0 {
			t.Errorf("%v: want 200 in all", answers)
		}
	}
}

// publishSteadily publishes events of another company until stop is called, at the rate that makes each partition commit that often. The
// company's topology is published before it returns: from then on, calls are published.
func (i *installation) publishSteadily() (stop func()) {
	i.Helper()
	company := sample.New(sample.Config{Seed: 2, Systems: 4 * events.DefaultPartitions, Calls: *callsFlag})
	next, finish := iter.Pull(company.Events())
	var topology []events.Event
	for more := true; more; {
		e, ok := next()
		topology = append(topology, e)
		more = ok && e.Entity != events.EntityCall
	}
	if err := i.publisher.Publish(i.Context(), topology...); err != nil {
		i.Fatal(err)
	}
	ctx, cancel := context.WithCancel(i.Context())
	var running sync.WaitGroup
	running.Go(func() {
		defer finish()
		paced(ctx, commitsPerSecond, 1, time.Hour, func(int) {
			batch := make([]events.Event, 0, events.DefaultPartitions)
			for range cap(batch) {
				if e, ok := next(); ok {
					batch = append(batch, e)
				}
			}
			if err := i.publisher.Publish(i.Context(), batch...); err != nil {
				i.Error(err)
			}
		})
	})
	return sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
}

// rebuildRole is a child that runs a rebuild, and prints its steps and its result.
const rebuildRole = "rebuild"

// What that child is told in its environment.
const (
	rebuildNATS     = "CALLBOARD_LOAD_NATS"
	rebuildPostgres = "CALLBOARD_LOAD_POSTGRES"
	rebuildSpool    = "CALLBOARD_LOAD_SPOOL"
	rebuildRows     = "CALLBOARD_LOAD_ROWS" // of a slice of the comparison
)

func runRebuild() error {
	ctx := background()
	pool, err := pgxpool.New(ctx, os.Getenv(rebuildPostgres))
	if err != nil {
		return err
	}
	defer pool.Close()
	connection, err := nats.Connect(os.Getenv(rebuildNATS))
	if err != nil {
		return err
	}
	defer connection.Close()
	js, err := jetstream.New(connection)
	if err != nil {
		return err
	}
	rows, err := strconv.ParseInt(os.Getenv(rebuildRows), 10, 64)
	if err != nil {
		return err
	}
	var step rebuild.Step
	result, err := rebuild.Run(ctx, rebuild.Config{
		JetStream: js, Stream: events.StreamName, Database: pool, Spool: os.Getenv(rebuildSpool),
		Slices: rebuild.SliceLimits{Rows: rows, Interval: comparisonInterval},
		Progress: func(p rebuild.Progress) {
			if p.Step != step {
				step = p.Step
				fmt.Println("step", step)
			}
		},
	}, false)
	if err != nil {
		return err
	}
	text, err := json.Marshal(result)
	fmt.Println("result", string(text))
	return err
}
