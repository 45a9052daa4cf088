package feed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/feed"
)

func TestMain(m *testing.M) { eventstest.RunAndFindLeaks(m) }

// sharedEnv is a stream with the subjects of stored events, and a feed.
type sharedEnv struct {
	*testing.T
	js     jetstream.JetStream
	stream jetstream.Stream
	feed   *feed.SharedFeed
}

func newSharedEnv(t *testing.T, partitions int, budget int64, options ...eventstest.Option) *sharedEnv {
	t.Helper()
	t.Parallel()
	e := &sharedEnv{T: t, js: eventstest.JetStream(t, eventstest.NewServer(t, options...).URL())}
	var err error
	if e.stream, err = e.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"phones.>"}}); err != nil {
		t.Fatal(err)
	}
	e.feed = feed.NewSharedFeed(feed.Config{Conn: e.js.Conn(), Stream: e.stream, Partitions: partitions, Bytes: budget})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { e.feed.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return e
}

// publish stores a message of a partition, and returns its sequence.
func (e *sharedEnv) publish(partition int, body []byte) uint64 {
	e.Helper()
	ack, err := e.js.Publish(e.Context(), fmt.Sprintf("phones.%d.system.call", partition), body)
	if err != nil {
		e.Fatal(err)
	}
	return ack.Sequence
}

// publishClock stores a clock message, and returns its sequence.
func (e *sharedEnv) publishClock() uint64 {
	e.Helper()
	ack, err := e.js.Publish(e.Context(), events.ClockSubject, nil)
	if err != nil {
		e.Fatal(err)
	}
	return ack.Sequence
}

// atClock waits until a member has nothing but a clock message.
func (e *sharedEnv) atClock(m *feed.Member, sequence uint64) {
	e.Helper()
	eventstest.Eventually(e, "the clock message", func() bool {
		clock, ok := m.Clock()
		return ok && clock.Sequence == sequence
	})
}

// publishMany stores messages of the partitions in turn.
func (e *sharedEnv) publishMany(count, partitions int) {
	e.Helper()
	for n := range count {
		if _, err := e.js.PublishAsync(fmt.Sprintf("phones.%d.system.call", n%partitions), []byte("x")); err != nil {
			e.Error(err)
			return
		}
		if n%500 == 0 || n == count-1 {
			<-e.js.PublishAsyncComplete()
		}
	}
}

// stored returns the sequences of a partition's messages.
func (e *sharedEnv) stored(partition int) (list []uint64) {
	e.Helper()
	for from := uint64(1); ; {
		m, err := e.stream.GetMsg(e.Context(), from, jetstream.WithGetMsgSubject(events.PartitionFilter(partition)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return list
		}
		if err != nil {
			e.Fatal(err)
		}
		list = append(list, m.Sequence)
		from = m.Sequence + 1
	}
}

func (e *sharedEnv) join(partition int, position uint64) *feed.Member {
	m := e.feed.Join(e.Context(), partition, position)
	e.Cleanup(m.Leave)
	return m
}

// consumers returns the configurations of the stream's consumers.
func (e *sharedEnv) consumers() (list []jetstream.ConsumerConfig) {
	e.Helper()
	lister := e.stream.ListConsumers(e.Context())
	for info := range lister.Info() {
		list = append(list, info.Config)
	}
	if err := lister.Err(); err != nil {
		e.Fatal(err)
	}
	return list
}

// consumerOfAll returns the name of the consumer of all partitions, once it is the only one.
func (e *sharedEnv) consumerOfAll() string {
	e.Helper()
	var list []jetstream.ConsumerConfig
	eventstest.Eventually(e.T, "one consumer, of all partitions", func() bool {
		list = e.consumers()
		return len(list) == 1 && len(list[0].FilterSubjects) == 0
	})
	return list[0].Name
}

// next returns the sequences of the next batch, which is not done yet.
func next(m *feed.Member, limit int) (sequences []uint64, err error) {
	for timeout := time.After(time.Minute); len(sequences) == 0; {
		select {
		case err := <-m.Failed:
			return nil, err
		case <-timeout:
			return nil, errors.New("no message within a minute")
		case <-m.Ready:
		}
		for _, message := range m.Take(limit) {
			sequences = append(sequences, message.Sequence)
		}
	}
	return sequences, nil
}

// receive takes messages until it has the wanted sequences. Others are an error.
func receive(m *feed.Member, want []uint64) error {
	for len(want) > 0 {
		got, err := next(m, 50)
		if err != nil {
			return fmt.Errorf("%d messages are missing: %w", len(want), err)
		}
		for _, sequence := range got {
			if len(want) == 0 || sequence != want[0] {
				return fmt.Errorf("sequence = %d, want the first of %v", sequence, want[:min(3, len(want))])
			}
			want = want[1:]
		}
		m.Done()
	}
	return nil
}

func TestShared_DeliversEveryPartitionByOneConsumer(t *testing.T) {
	const partitions = 16
	e := newSharedEnv(t, partitions, 1<<20)
	e.publishMany(2000, partitions)
	var members []*feed.Member
	for p := range partitions {
		members = append(members, e.join(p, 0))
	}
	for p, m := range members {
		if err := receive(m, e.stored(p)); err != nil {
			t.Errorf("partition %d: %v", p, err)
		}
	}
	list := e.consumers()
	if len(list) != 1 || len(list[0].FilterSubjects) > 0 {
		t.Fatalf("consumers = %+v, want one without a filter", list)
	}
	c := list[0]
	if c.Durable != "" || c.AckPolicy != jetstream.AckNonePolicy || !c.MemoryStorage || c.InactiveThreshold < 5*time.Minute {
		t.Errorf("consumer = %+v, want one in memory without acknowledgements, which expires after 5 minutes or more", c)
	}
}

func TestShared_FiltersWhereItServesAShare(t *testing.T) {
	e := newSharedEnv(t, 4, 1<<20)
	e.publishMany(40, 4)
	zero, two := e.join(0, 0), e.join(2, 5) // the message 5 is of partition 0
	if err := errors.Join(receive(zero, e.stored(0)), receive(two, e.stored(2)[1:])); err != nil {
		t.Fatal(err)
	}
	if list := e.consumers(); len(list) != 1 || len(list[0].FilterSubjects) != 3 {
		t.Errorf("consumers = %+v, want one with the filters of two partitions and of clock messages", list)
	}
	last := e.publish(1, nil) // of nobody
	if zero.Received(last) {
		t.Error("a message of another share counts as received")
	}
	clock := e.publishClock()
	e.atClock(zero, clock)
	e.atClock(two, clock)
}

// Partitions leave with messages in hand and join again, under load, and everyone gets each of its messages once.
func TestShared_MembersJoinAndLeaveUnderLoad(t *testing.T) {
	const partitions, messages = 4, 3000
	e := newSharedEnv(t, partitions, 16<<10)
	var publishing sync.WaitGroup
	publishing.Go(func() { e.publishMany(messages, partitions) })
	errs := make(chan error, partitions)
	for p := range partitions {
		go func() { errs <- e.follow(p, messages/partitions, p%2 == 1) }()
	}
	for range partitions {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	publishing.Wait()
	if used := e.feed.Used(); used != 0 {
		t.Errorf("bytes in memory = %d, want 0", used)
	}
}

// follow receives a partition's messages. One that rejoins drops every tenth batch and joins again.
func (e *sharedEnv) follow(partition, count int, rejoins bool) error {
	position, received := uint64(0), 0
	m := e.feed.Join(e.Context(), partition, position)
	defer func() { m.Leave() }()
	for n := 1; received < count; n++ {
		batch, err := next(m, 20)
		if err != nil {
			return fmt.Errorf("partition %d after %d messages: %w", partition, received, err)
		}
		if rejoins && n%10 == 0 {
			m.Leave()
			m = e.feed.Join(e.Context(), partition, position)
			continue
		}
		for _, sequence := range batch {
			if sequence <= position {
				return fmt.Errorf("partition %d: sequence = %d after %d, want a higher one", partition, sequence, position)
			}
			position = sequence
		}
		received += len(batch)
		m.Done()
	}
	if stored := e.stored(partition); len(stored) != count || position != stored[count-1] {
		return fmt.Errorf("partition %d: last of %d messages = %d, want it to be the last one stored", partition, received, position)
	}
	return nil
}

// A partition that is far behind reads by a consumer of its own, which ends when it has caught up. Nobody waits for it.
func TestShared_APartitionFarBehindCatchesUp(t *testing.T) {
	e := newSharedEnv(t, 2, 1<<20)
	const messages = 24_000
	e.publishMany(messages, 2)
	ahead := e.join(0, messages-10)
	if err := receive(ahead, []uint64{messages - 9, messages - 7, messages - 5, messages - 3, messages - 1}); err != nil {
		t.Fatal(err)
	}
	behind := e.join(1, 100)
	first, err := next(behind, 10)
	if err != nil {
		t.Fatal(err)
	}
	if first[0] != 102 {
		t.Errorf("first sequence = %d, want 102", first[0])
	}
	if err := receive(ahead, []uint64{e.publish(0, nil)}); err != nil {
		t.Errorf("the partition at the end: %v", err)
	}
	behind.Done()
	var rest []uint64
	for sequence := first[len(first)-1] + 2; sequence <= messages; sequence += 2 {
		rest = append(rest, sequence)
	}
	if err := receive(behind, rest); err != nil {
		t.Fatal(err)
	}
	eventstest.Eventually(t, "one consumer", func() bool { return len(e.consumers()) == 1 })
	if err := receive(behind, []uint64{e.publish(1, nil)}); err != nil {
		t.Error(err)
	}
}

// A partition that works off its queue is not passed by when its share is full: its messages would be read twice.
func TestShared_WaitsForAPartitionThatWorksOffItsQueue(t *testing.T) {
	e := newSharedEnv(t, 2, 1<<20)
	e.feed.SetStuckTimeout(time.Minute)
	const messages = 200 // ten times the share
	var sequences []uint64
	for range messages {
		sequences = append(sequences, e.publish(0, make([]byte, 32<<10)))
	}
	e.join(1, 0)
	busy := e.join(0, 0)
	for len(sequences) > 0 {
		batch, err := next(busy, 3)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(batch, sequences[:len(batch)]) {
			t.Fatalf("sequences = %v, want %v", batch, sequences[:len(batch)])
		}
		sequences = sequences[len(batch):]
		if n := len(e.consumers()); n != 1 {
			t.Fatalf("consumers = %d, %d messages before the end, want 1", n, len(sequences))
		}
		busy.Done()
	}
}

// The room of a batch is given back when it is done, or when the member leaves.
func TestMember_GivesBackRoom(t *testing.T) {
	e := newSharedEnv(t, 1, 1<<20)
	m := e.feed.Join(t.Context(), 0, 0)
	var last uint64
	for range 5 {
		last = e.publish(0, make([]byte, 1000))
	}
	eventstest.Eventually(t, "all messages", func() bool { return m.Received(last) })
	all := e.feed.Used()
	for taken, want := range []int64{all, all * 3 / 5, all / 5, 0} {
		if got := e.feed.Used(); got != want {
			t.Errorf("bytes after %d batches = %d, want %d", taken, got, want)
		}
		if want > 0 && len(m.Take(2)) == 0 {
			t.Errorf("batch %d has no messages", taken)
		}
		m.Done()
	}
	e.publish(0, nil)
	if _, err := next(m, 1); err != nil {
		t.Fatal(err)
	}
	m.Leave()
	if got := e.feed.Used(); got != 0 {
		t.Errorf("bytes of a member that left = %d, want 0", got)
	}
}

// A clock message proves that a partition has all of its messages below it: one that the stream has lost since is
// not waited for.
func TestShared_CatchesUpWithAClockMessage(t *testing.T) {
	e := newSharedEnv(t, 2, 1000)
	e.feed.SetStuckTimeout(100 * time.Millisecond)
	zero, one := e.join(0, 0), e.join(1, 0)
	e.consumerOfAll()
	large := make([]byte, 600)
	first := e.publish(1, large)
	if got, err := next(one, 1); err != nil || got[0] != first {
		t.Fatalf("sequences = %v, %v, want %d", got, err, first)
	}
	second := e.publish(1, large) // above the share of a partition that is stuck: it is passed by
	last := e.publish(0, nil)
	if err := receive(zero, []uint64{last}); err != nil {
		t.Fatal(err)
	}
	if err := e.stream.DeleteMsg(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if one.Received(last) {
		t.Error("a message that was skipped counts as received")
	}
	one.Done()
	clock := e.publishClock()
	e.atClock(zero, clock)
	e.atClock(one, clock)
}

// A clock message keeps its place among the messages of a partition that has some, and is not taken alone.
func TestMember_ClockMessagesKeepTheirPlace(t *testing.T) {
	e := newSharedEnv(t, 1, 1<<20)
	m := e.join(0, 0)
	want := []uint64{e.publish(0, nil), e.publishClock(), e.publish(0, nil)}
	e.publishClock()
	last := e.publishClock() // it replaces the one before
	eventstest.Eventually(t, "all messages", func() bool { return m.Received(last) })
	if clock, ok := m.Clock(); ok {
		t.Errorf("clock of a partition with messages = %+v, want none", clock)
	}
	got, err := next(m, 3)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("sequences = %v, want %v", got, want)
	}
	if clock, ok := m.Clock(); ok {
		t.Errorf("clock of a partition with a batch that is not done = %+v, want none", clock)
	}
	m.Done()
	if messages := m.Take(3); len(messages) != 0 {
		t.Errorf("messages beside clock messages = %d, want 0", len(messages))
	}
	clock, ok := m.Clock()
	if !ok || clock.Sequence != last || clock.StoredAt != clock.Latest {
		t.Errorf("clock = %+v, %t, want that of sequence %d", clock, ok, last)
	}
	m.DropClock(clock)
	if clock, ok := m.Clock(); ok {
		t.Errorf("clock after it was dropped = %+v, want none", clock)
	}
}

// The counted bytes of a backlog of large messages stay within the budget, while nobody takes any and while all do.
func TestShared_CountedBytesStayWithinTheBudget(t *testing.T) {
	const partitions, each, budget, size = 4, 12, 8 << 20, 1000 << 10 // two fit into a share
	e := newSharedEnv(t, partitions, budget, eventstest.MaxPayload(2<<20))
	for range each {
		for p := range partitions {
			e.publish(p, make([]byte, size))
		}
	}
	within := func() bool {
		used := e.feed.Used()
		if used > budget {
			t.Fatalf("bytes in memory = %d, want at most %d", used, budget)
		}
		return used > budget-2*size
	}
	members := make([]*feed.Member, partitions)
	for p := range members {
		members[p] = e.join(p, 0)
	}
	eventstest.Eventually(t, "a full feed", within)
	errs := make(chan error, partitions)
	for p, m := range members {
		want := e.stored(p)
		go func() { errs <- receive(m, want) }()
	}
	eventstest.Eventually(t, "all messages received", func() bool {
		within()
		return len(errs) == partitions
	})
	for range partitions {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if used := e.feed.Used(); used != 0 {
		t.Errorf("bytes in memory at the end = %d, want 0", used)
	}
}

// A message above the budget, which is larger than the usual pull, is alone.
func TestShared_AMessageAboveTheBudgetIsAlone(t *testing.T) {
	const size = 17 << 20
	e := newSharedEnv(t, 2, 1000, eventstest.MaxPayload(size))
	zero, one := e.join(0, 0), e.join(1, 0)
	small, large := e.publish(0, make([]byte, 500)), e.publish(1, make([]byte, size))
	after := e.publish(0, make([]byte, 500))
	if err := errors.Join(receive(zero, []uint64{small}), receive(one, []uint64{large}), receive(zero, []uint64{after})); err != nil {
		t.Error(err)
	}
}

// Partitions that commit nothing hold up the others for a moment only. They miss nothing, also if no further
// message of them comes.
func TestShared_StuckPartitionsAreSkipped(t *testing.T) {
	const partitions, each = 4, 40
	e := newSharedEnv(t, partitions, 4000)
	e.feed.SetStuckTimeout(100 * time.Millisecond)
	var members []*feed.Member
	for p := range partitions {
		members = append(members, e.join(p, 0))
	}
	for range each {
		for p := range partitions {
			e.publish(p, make([]byte, 200))
		}
	}
	stuck := make([][]uint64, partitions-1)
	for p := range stuck {
		var err error
		if stuck[p], err = next(members[p], 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := receive(members[partitions-1], e.stored(partitions-1)); err != nil {
		t.Fatal(err)
	}
	for p, taken := range stuck {
		members[p].Done()
		if err := receive(members[p], e.stored(p)[len(taken):]); err != nil {
			t.Errorf("partition %d: %v", p, err)
		}
	}
}

// Anybody who may publish can store a message that client libraries take for a word of the server: no data, and the
// header of a status.
func TestShared_DeliversMessagesThatLookLikeAStatus(t *testing.T) {
	e := newSharedEnv(t, 1, 1<<20)
	m := e.join(0, 0)
	var want []uint64
	for _, status := range []string{"100", "400", "404", "408", "409", "423", "503"} {
		ack, err := e.js.PublishMsg(t.Context(), &nats.Msg{
			Subject: "phones.0.system.call", Header: nats.Header{"Status": {status}, "Description": {"Consumer Deleted"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, ack.Sequence)
	}
	if err := receive(m, append(want, e.publish(0, nil))); err != nil {
		t.Error(err)
	}
}

func TestShared_FailsAllMembersOnAGap(t *testing.T) {
	e := newSharedEnv(t, 2, 1<<20)
	zero, one := e.join(0, 0), e.join(1, 0)
	if err := receive(zero, []uint64{e.publish(0, nil)}); err != nil {
		t.Fatal(err)
	}
	other, err := e.stream.Consumer(t.Context(), e.consumerOfAll())
	if err != nil {
		t.Fatal(err)
	}
	taken, err := other.Fetch(1, jetstream.FetchMaxWait(10*time.Minute), jetstream.FetchHeartbeat(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	eventstest.Eventually(t, "it waits in the server beside the feed's pull", func() bool {
		info, err := other.Info(t.Context())
		return err == nil && info.NumWaiting >= 2
	})
	e.publishMany(4, 2)
	for range taken.Messages() {
	}
	e.requireFailure(feed.ErrGap, zero, one)
}

// requireFailure requires that members fail with an error. One that joins again misses nothing.
func (e *sharedEnv) requireFailure(want error, members ...*feed.Member) {
	e.Helper()
	for p, m := range members {
		var err error
		for err == nil {
			_, err = next(m, 1)
			m.Done()
		}
		if !errors.Is(err, want) {
			e.Errorf("partition %d: error = %v, want %v", p, err, want)
		}
		m.Leave()
	}
	if err := receive(e.join(1, 1), append(e.stored(1), e.publish(1, nil))); err != nil {
		e.Error(err)
	}
}

// A deleted consumer fails all members; those that join again miss nothing.
func TestShared_FailsAllMembersWhenTheConsumerIsDeleted(t *testing.T) {
	e := newSharedEnv(t, 2, 1<<20)
	zero, one := e.join(0, 0), e.join(1, 0)
	if err := receive(zero, []uint64{e.publish(0, nil)}); err != nil {
		t.Fatal(err)
	}
	name := e.consumerOfAll()
	eventstest.Eventually(t, "the feed's pull waits in the server", func() bool {
		consumer, err := e.stream.Consumer(t.Context(), name)
		return err == nil && consumer.CachedInfo().NumWaiting >= 1
	})
	if err := e.stream.DeleteConsumer(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	e.requireFailure(jetstream.ErrConsumerDeleted, zero, one)
}

// A member that has failed gets no more messages: its queue was thrown away, so a message would be applied without those
// before it.
func TestShared_NothingArrivesAfterAFailure(t *testing.T) {
	e := newSharedEnv(t, 1, 1<<20)
	m, lost := e.join(0, 0), errors.New("the consumer is lost")
	e.feed.Fail(lost)
	m.DeliverMissed(events.StoredMessage{
		Sequence: 2, Message: events.Message{Subject: "phones.0.system.call"},
	})
	if got := m.Take(10); len(got) > 0 {
		t.Errorf("messages = %d, want none", len(got))
	}
	if err := <-m.Failed; !errors.Is(err, lost) {
		t.Errorf("error = %v, want %v", err, lost)
	}
}
