package feed_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/eventstest"
	"callboard/events/eventstest/leaks"
	"callboard/projector/feed"
)

func TestMain(m *testing.M) { leaks.Run(m) }

// env is a stream with a consumer.
type env struct {
	t        *testing.T
	js       jetstream.JetStream
	stream   jetstream.Stream
	consumer jetstream.Consumer
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{t: t, js: eventstest.JetStream(t, eventstest.NewServer(t).URL())}
	var err error
	if e.stream, err = e.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	e.consumer, err = e.stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{
		Durable: "c", AckPolicy: jetstream.AckAllPolicy, AckWait: time.Hour, MaxAckPending: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *env) open(batch int) *feed.Feed {
	e.t.Helper()
	f, err := feed.Open(e.js.Conn(), e.consumer, batch)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(f.Close)
	return f
}

// publish publishes messages with the numbers from first to last.
func (e *env) publish(first, last int) {
	e.t.Helper()
	for n := first; n <= last; n++ {
		if _, err := e.js.Publish(e.t.Context(), "s", []byte(strconv.Itoa(n))); err != nil {
			e.t.Fatal(err)
		}
	}
}

// receive takes n messages and returns an error if their numbers don't follow each other.
func (e *env) receive(f *feed.Feed, first, n int) error {
	for want := first; want < first+n; want++ {
		select {
		case err := <-f.Failed:
			return err
		case m := <-f.Messages:
			if got := string(m.Data); got != strconv.Itoa(want) {
				return fmt.Errorf("message = %s, want %d", got, want)
			}
		case <-time.After(time.Minute):
			return errors.New("nothing within a minute")
		}
	}
	return nil
}

func TestFeed_DeliversInOrder(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.publish(1, 50)
	f := e.open(10) // so that it asks again several times
	if err := e.receive(f, 1, 50); err != nil {
		t.Fatal(err)
	}
	e.publish(51, 52)
	if err := e.receive(f, 51, 2); err != nil {
		t.Error(err)
	}
}

func TestFeed_TakeReturnsWhatIsThereUpToTheLimit(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.publish(1, 8)
	f := e.open(100)
	eventstest.Eventually(t, "8 messages in the feed", func() bool { return len(f.Messages) == 8 })
	for _, want := range []int{5, 3} {
		if got := f.Take(<-f.Messages, 5); len(got) != want {
			t.Errorf("batch = %d messages, want %d", len(got), want)
		}
	}
}

func TestFeed_TakeEndsABatchOfLargeMessages(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for range 12 {
		if _, err := e.js.Publish(t.Context(), "s", make([]byte, 900<<10)); err != nil {
			t.Fatal(err)
		}
	}
	f := e.open(100)
	eventstest.Eventually(t, "12 messages in the feed", func() bool { return len(f.Messages) == 12 })
	if got := f.Take(<-f.Messages, 100); len(got) != 10 { // 8 MiB are reached with the tenth
		t.Errorf("batch = %d messages, want 10", len(got))
	}
}

func TestFeed_FailsWhenAnotherClientTakesADelivery(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.publish(1, 2)
	if _, err := e.consumer.Next(); err != nil {
		t.Fatal(err)
	}
	f := e.open(10)
	if err := e.receive(f, 2, 1); !errors.Is(err, feed.ErrGap) {
		t.Errorf("error = %v, want ErrGap", err)
	}
}

func TestFeed_FailsWhenADeliveryIsRepeated(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	_, err := e.stream.UpdateConsumer(t.Context(), jetstream.ConsumerConfig{
		Durable: "c", AckPolicy: jetstream.AckAllPolicy, MaxAckPending: -1, AckWait: 100 * time.Millisecond, // until the server repeats it
	})
	if err != nil {
		t.Fatal(err)
	}
	e.publish(1, 1)
	f := e.open(10)
	<-f.Messages
	if err := e.receive(f, 2, 1); !errors.Is(err, feed.ErrGap) {
		t.Errorf("error = %v, want ErrGap", err)
	}
}

func TestFeed_FailsWhenTheConsumerIsDeleted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	f := e.open(10)
	e.publish(1, 1)
	if err := e.receive(f, 1, 1); err != nil { // from now on the server has a request to answer
		t.Fatal(err)
	}
	if err := e.stream.DeleteConsumer(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if err := e.receive(f, 2, 1); !errors.Is(err, jetstream.ErrConsumerDeleted) {
		t.Errorf("error = %v, want ErrConsumerDeleted", err)
	}
}

// A consumer that stalls is no error of the feed: its user sees that messages wait in the stream.
func TestFeed_ReportsNothingWhileTheConsumerStalls(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	if _, err := e.stream.PauseConsumer(t.Context(), "c", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	f := e.open(10)
	e.publish(1, 3)
	eventstest.Eventually(t, "3 messages that wait", func() bool {
		info, err := e.consumer.Info(t.Context())
		return err == nil && info.NumPending == 3
	})
	if len(f.Messages)+len(f.Failed) != 0 {
		t.Errorf("messages = %d, failures = %d, want none", len(f.Messages), len(f.Failed))
	}
}

func TestFeed_CloseReturnsWhileNobodyReceives(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.publish(1, 20)
	f, err := feed.Open(e.js.Conn(), e.consumer, 4)
	if err != nil {
		t.Fatal(err)
	}
	eventstest.Eventually(t, "a full feed", func() bool { return len(f.Messages) == 4 })
	f.Close()
}

// Anybody who may publish can store a message that client libraries take for a word of the server: no data, and the header of a status.
func TestFeed_DeliversMessagesThatLookLikeAStatus(t *testing.T) {
	e := newEnv(t)
	e.publish(1, 1)
	statuses := []string{"100", "400", "404", "408", "409", "423", "503"}
	for _, status := range statuses {
		m := &nats.Msg{Subject: "s", Header: nats.Header{"Status": {status}, "Description": {"Consumer Deleted"}}}
		if _, err := e.js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	e.publish(2, 2)
	f := e.open(4)
	for sequence := 1; sequence <= len(statuses)+2; sequence++ {
		select {
		case m := <-f.Messages:
			if m.Sequence != uint64(sequence) {
				t.Fatalf("sequence = %d, want %d", m.Sequence, sequence)
			}
		case err := <-f.Failed:
			t.Fatal(err)
		case <-time.After(time.Minute):
			t.Fatalf("message %d is not delivered", sequence)
		}
	}
}
