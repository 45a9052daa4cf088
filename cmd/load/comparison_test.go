//go:build linux

package load_test

import (
	"context"
	"iter"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

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

// Pages are read while events are published, first without a rebuild, then while one compares for ten times as long, as one of a projection
// that is a hundred times as large would. The rows that are written meanwhile are cleaned up between its snapshots, so pages stay as fast.
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
	before := read(t.Context(), "pages before", *periodFlag)

	compares, compared := make(chan struct{}), make(chan rebuild.Result, 1)
	slices := int64(comparisonPeriods * *periodFlag / comparisonInterval)
	config := rebuild.Config{
		JetStream: i.js, Stream: events.StreamName, Database: i.pool, Spool: t.TempDir(),
		Slices: rebuild.SliceLimits{Rows: max(1, i.countRows()/slices), Interval: comparisonInterval},
	}
	begin := sync.OnceFunc(func() { close(compares) })
	reading, end := context.WithCancel(t.Context())
	config.Progress = func(p rebuild.Progress) {
		if p.Step == rebuild.StepFollow {
			begin() // to compare
		}
		if p.Step == rebuild.StepSwitch {
			end()
		}
	}
	go func() {
		defer close(compared)
		defer end()
		defer begin()
		result, err := rebuild.Run(t.Context(), config, false)
		if err != nil {
			t.Error(err)
		}
		compared <- result
	}()
	<-compares
	during := read(reading, "pages while a rebuild compares", time.Hour)
	result := <-compared
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

// publishSteadily publishes events of another company until stop is called, at the rate that makes each partition commit that often.
func (i *installation) publishSteadily() (stop func()) {
	i.Helper()
	company := sample.New(sample.Config{Seed: 2, Systems: 4 * events.DefaultPartitions, Calls: *callsFlag})
	next, finish := iter.Pull(company.Events())
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
