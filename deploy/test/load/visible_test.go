//go:build linux

package load_test

import (
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events"
	"callboard/events/sample"
)

// eventsPerSecond is the rate at which events are published to measure when they are visible.
const eventsPerSecond = 1000

// unseen are events that are published and not yet visible. It is safe for concurrent use.
type unseen struct {
	mu        sync.Mutex
	published map[uint64]time.Time // when publishing began, by sequence
	took      []time.Duration
}

func (u *unseen) add(sequence uint64, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.published[sequence] = at
}

// seen removes the events up to a sequence.
func (u *unseen) seen(sequence uint64, now time.Time) (left int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for s, at := range u.published {
		if s <= sequence {
			u.took = append(u.took, now.Sub(at))
			delete(u.published, s)
		}
	}
	return len(u.published)
}

// publishToVisible publishes events of another company with one phone system, and returns how long after its
// publication each one was visible to a new statement, to the millisecond.
func (i *installation) publishToVisible(seed uint64) []time.Duration {
	i.Helper()
	company := sample.New(sample.Config{Seed: seed, Systems: 1, Calls: int(durationFlag.Seconds()+1) * eventsPerSecond})
	partition := events.Partition(company.Systems()[0].ID, events.DefaultPartitions)
	var messages []*nats.Msg
	for e := range company.History() {
		e.ID, e.Source = uuid.NewString(), "load"
		m, err := events.Encode(e)
		if err != nil {
			i.Fatal(err)
		}
		messages = append(messages, &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data})
	}
	u := &unseen{published: make(map[uint64]time.Time)}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		i.watchPosition(partition, u, stop)
	}()
	paced(i.Context(), eventsPerSecond, 16, *durationFlag, func(n int) {
		at := time.Now()
		ack, err := i.js.PublishMsg(i.Context(), messages[n])
		if err != nil {
			i.Error(err)
			return
		}
		u.add(ack.Sequence, at)
	})
	close(stop)
	<-stopped
	return u.took
}

// watchPosition records what is visible, every millisecond until stop is closed and nothing is left.
func (i *installation) watchPosition(partition int, u *unseen, stop <-chan struct{}) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for stopping := false; ; <-tick.C {
		var sequence int64
		if err := i.pool.QueryRow(i.Context(), "select sequence from projection.position where partition = $1", partition).Scan(&sequence); err != nil {
			i.Error(err)
			return
		}
		if left := u.seen(uint64(sequence), time.Now()); stopping && left == 0 {
			return
		}
		select {
		case <-stop:
			stopping = true
		default:
		}
	}
}

// idle returns how many transactions and JetStream requests a second an installation makes while nothing is published.
func (i *installation) idle() (transactions, requests float64) {
	i.Helper()
	count := func() (int64, uint64) {
		account, err := i.js.AccountInfo(i.Context())
		if err != nil {
			i.Fatal(err)
		}
		return query[int64](i, "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()"), account.API.Total
	}
	began := time.Now()
	transactionsBefore, requestsBefore := count()
	<-time.After(*durationFlag)
	transactionsAfter, requestsAfter := count()
	seconds := time.Since(began).Seconds()
	const own = 1 // of each kind, between the two counts
	return float64(transactionsAfter-transactionsBefore-own) / seconds, float64(requestsAfter-requestsBefore-own) / seconds
}
